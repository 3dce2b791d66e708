package vpc_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
	"github.com/heddle-network/heddle/vpc"
	"github.com/heddle-network/heddle/vpcroute"
)

// TestOutKilled kills the host's agent, or the VPC's, before a step of leading a VPC out, and then of ending that. Afterwards each agent has its half as a whole or not at
// all, and the command, repeated, does the rest.
func TestOutKilled(t *testing.T) {
	soak.Turn(t, 0)
	c := newCloud(t, []string{"red"}, map[string][]string{"r1": {"red/lan"}})
	defer c.end()
	internet(t)
	c.network("red", "lan", "10.1.0.0/24", "fd01::/64")
	c.plug("r1", "red/lan", same, everywhere...)
	ctx, all := context.Background(), netip.MustParsePrefix("::/0")
	add := func() error {
		_, err := vpc.AddRoute(ctx, c.of(), "red", vpcroute.Route{Destination: all, Host: true})
		return err
	}
	remove := func() error {
		_, err := vpc.DeleteRoute(ctx, c.of(), "red", all)
		return err
	}
	for _, op := range []struct {
		name       string
		do, before func() error
		out        bool
	}{{"add", add, remove, true}, {"delete", remove, add, false}} {
		for _, who := range []string{"", "red"} {
			died, last := true, 0
			for step := 1; died; step = soak.Next(t, step) {
				cell.Must(t, op.before())
				c.agents[who].Stop()
				armed := filepath.Join(t.TempDir(), "armed")
				c.start(who, fmt.Sprint("HEDDLE_CRASH_AT=", step), "HEDDLE_CRASH_AFTER="+armed)
				cell.Must(t, os.WriteFile(armed, nil, 0o600))
				if died = op.do() != nil; died {
					c.agents[who].WaitDead(t)
				}
				cell.Must(t, os.Remove(armed))
				if died {
					c.start(who)
				}
				when := fmt.Sprintf("after a kill of %q at step %d of %s", who, step, op.name)
				cell.Must(t, op.do())
				for _, a := range c.agents {
					world.Soon(t, "all is as planned "+when, func() error { return auditEmpty(a.Client) })
				}
				if op.out {
					world.Soon(t, "r1 is out "+when, func() error { return c.machines["r1"].Ping(outsideAddrs[1], "-W1") })
				} else if found, err := vpc.FindOut(ctx, c.of(), "red"); err != nil || found.Inside.ID+found.Outside.ID != "" {
					t.Errorf("%s there is %+v, %v", when, found, err)
				}
				if last = step; step > 200 {
					t.Fatal("it has no end")
				}
			}
			if last < 4 {
				t.Errorf("%s has %d steps of %q: too few to have been killed within it", op.name, last, who)
			}
		}
	}
	cell.Must(t, add())
	cell.Must(t, remove())
}

// auditEmpty is what an agent finds that is not as planned.
func auditEmpty(a *client.Client) error {
	found, err := a.Audit(context.Background())
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%+v", found)
	}
	return err
}

// TestOutBoot: after a boot the way out is whole when both agents have come, in whichever order. Of a VPC that is deleted without its agent having run again,
// nothing is left on the host.
func TestOutBoot(t *testing.T) {
	soak.Turn(t, 1)
	c := newCloud(t, []string{"red"}, nil)
	defer c.end()
	internet(t)
	c.network("red", "lan", "10.1.0.0/24", "fd01::/64")
	ctx := context.Background()
	c.out("red", everywhere...)
	for _, first := range []string{"", "red"} {
		c.boot("red")
		c.agents[""].Kill()
		for _, name := range []string{first, map[string]string{"": "red", "red": ""}[first]} {
			c.start(name)
		}
		for _, a := range c.agents {
			world.Soon(t, "all is as planned after a boot", func() error { return auditEmpty(a.Client) })
		}
		if err := c.netns("red").TryGets("internet", port, outsideAddrs...); err != nil {
			t.Errorf("when agent %q has come first: %v", first, err)
		}
	}
	c.agents["red"].Stop()
	if _, err := vpc.Delete(ctx, "red"); heddle.NetworkInUse.In(err) == nil {
		t.Errorf("a VPC with a way out is deleted: %v", err)
	}
	c.boot("red")
	c.heddle(t, "export HEDDLE_SOCKET="+c.agents[""].Socket+"; heddle vpc delete red --dry-run; heddle vpc delete red")
	c.agents[""].AuditEmpty(t)
	if n, err := vpc.Outside(ctx, c.agents[""].Client, "red"); err != nil || n.ID != "" {
		t.Errorf("of the VPC is left %+v, %v", n, err)
	}
	delete(c.agents, "red")
}
