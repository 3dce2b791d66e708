package vpc_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
	"github.com/heddle-network/heddle/vpcroute"
)

// TestRoutesKilled kills the agent of a VPC before a step of adding a route, and then of deleting it: the route is there as a whole afterwards,
// or not at all, and calling again does the rest.
func TestRoutesKilled(t *testing.T) {
	soak.Turn(t, 1)
	c := newRed(t)
	defer c.end()
	ctx, r1 := context.Background(), c.machines["r1"]
	c.ends("r1", "red/lan")
	_, six := c.ends("hop", "red/lan")
	c.has("hop", beyond[1])
	destination := netip.MustParsePrefix(beyondRoutes[1])
	route := vpcroute.Route{Destination: destination, NextHop: netip.MustParseAddr(six)}
	add := func() error {
		_, err := c.agents["red"].AddVPCRoute(ctx, route, false)
		return err
	}
	remove := func() error {
		_, err := c.agents["red"].DeleteVPCRoute(ctx, destination, false)
		return err
	}
	whole := func(when string) {
		t.Helper()
		c.agents["red"].AuditEmpty(t)
		all, err := c.agents["red"].VPCRoutes(ctx)
		cell.Must(t, err)
		if len(all) == 0 {
			if r1.Ping(beyond[1], "-W0.2") == nil {
				t.Errorf("%s, there is no route, and r1 reaches what is beyond", when)
			}
			return
		}
		world.Soon(t, "r1 reaches what is beyond "+when, func() error { return r1.Ping(beyond[1], "-W1") })
	}
	for _, op := range []struct {
		name       string
		do, before func() error
	}{{"add", add, remove}, {"delete", remove, add}} {
		died, last := true, 0
		for step := 1; died; step = soak.Next(t, step) {
			cell.Must(t, op.before())
			c.agents["red"].Stop()
			armed := filepath.Join(t.TempDir(), "armed")
			c.start("red", fmt.Sprint("HEDDLE_CRASH_AT=", step), "HEDDLE_CRASH_AFTER="+armed)
			cell.Must(t, os.WriteFile(armed, nil, 0o600))
			if died = op.do() != nil; died {
				c.agents["red"].WaitDead(t)
			}
			cell.Must(t, os.Remove(armed))
			if died {
				c.start("red")
			}
			whole(fmt.Sprintf("after a kill at step %d of %s", step, op.name))
			if last = step; step > 100 {
				t.Fatal("it has no end")
			}
		}
		if last < 4 {
			t.Errorf("%s has %d steps: too few to have been killed within it", op.name, last)
		}
		cell.Must(t, op.do())
		whole("when " + op.name + " is done")
	}
}
