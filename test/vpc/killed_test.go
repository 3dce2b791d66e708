package vpc_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
	"github.com/heddle-network/heddle/vpc"
)

// TestPeeringKilled kills the agent of a VPC before a step of a peering, and then its other steps: each time the VPC has its half as a
// whole afterwards, or not at all, and peering again does the rest.
func TestPeeringKilled(t *testing.T) {
	soak.Turn(t, 2)
	c := newCloud(t, []string{"red", "blue"}, map[string][]string{"r1": {"red/lan"}, "b1": {"blue/lan"}})
	defer c.end()
	c.network("red", "lan", "10.1.0.0/24", "fd01::/64")
	c.network("blue", "lan", "10.2.0.0/24", "fd02::/64")
	c.plug("r1", "red/lan", nil, "0.0.0.0/0", "::/0")
	card := c.plug("b1", "blue/lan", nil, "0.0.0.0/0", "::/0")
	ctx := context.Background()
	of := func(name string) *client.Client { return c.agents[name].Client }
	died, last := true, 0
	for step := 1; died; step = soak.Next(t, step) {
		for _, name := range []string{"red", "blue"} { // the first to make its half, and the other one
			armed := filepath.Join(t.TempDir(), "armed")
			c.agents[name].Stop()
			c.start(name, fmt.Sprint("HEDDLE_CRASH_AT=", step), "HEDDLE_CRASH_AFTER="+armed)
			cell.Must(t, os.WriteFile(armed, nil, 0o600))
			err := vpc.Peer(ctx, of, "red", "blue")
			died = err != nil
			if died {
				c.agents[name].WaitDead(t)
			}
			cell.Must(t, os.Remove(armed))
			if died {
				c.start(name)
			}
			for _, name := range []string{"red", "blue"} {
				c.agents[name].AuditEmpty(t)
			}
			cell.Must(t, vpc.Peer(ctx, of, "red", "blue"))
			for _, a := range card.Addrs {
				world.Soon(t, fmt.Sprintf("r1 reaches b1, after a kill of %s at step %d", name, step), func() error { return c.machines["r1"].Ping(a.Addr(), "-W1") })
			}
			if _, err := vpc.Unpeer(ctx, of, "red", "blue"); err != nil {
				t.Fatal(err)
			}
		}
		if last = step; step > 200 {
			t.Fatal("a peering has no end")
		}
	}
	if t.Logf("blue's half has less than %d steps", last); last < 10 {
		t.Error("too few to have been killed within it")
	}
}
