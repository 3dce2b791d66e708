package vpc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
	"github.com/heddle-network/heddle/vpc"
)

// TestBoot: after a boot there are state folders alone. The first agent of a peering starts though its peer has no namespace, and the
// peering is whole when both are there. A VPC whose peer does not come again ends its half, and the peer then has one of its own.
func TestBoot(t *testing.T) {
	soak.Turn(t, 2)
	c := newCloud(t, []string{"red", "blue"}, map[string][]string{"r1": {"red/lan"}, "b1": {"blue/lan"}})
	defer c.end()
	c.network("red", "lan", "10.1.0.0/24", "fd01::/64")
	c.network("blue", "lan", "10.2.0.0/24", "fd02::/64")
	ctx := context.Background()
	of := func(name string) *client.Client { return c.agents[name].Client }
	cell.Must(t, vpc.Peer(ctx, of, "red", "blue"))
	c.boot("red", "blue")

	c.start("red")
	world.Soon(t, "red's status says what is missing", func() error {
		status, err := of("red").Status(ctx)
		if said := fmt.Sprintf("%+v", status.Parts); err == nil && !strings.Contains(said, "start the agent whose namespace "+vpc.Netns("blue")+" is") {
			err = errors.New(said)
		}
		return err
	})
	const half = "heddle --vpc red network delete vpc-blue"
	if _, err := vpc.Unpeer(ctx, of, "red", "blue"); !errors.Is(err, heddle.AgentDown.Sentinel()) || !strings.Contains(err.Error(), half) {
		t.Errorf("unpeered while blue's agent is away: %v", err)
	}
	if name := cell.Sh(t, "cat $(dirname $(grep -la '[v]pc.red' /proc/[0-9]*/cmdline | head -n 1))/comm"); name != "heddled" {
		t.Errorf("the agent's process is called %s", name)
	}
	c.start("blue")
	card := c.plug("b1", "blue/lan", nil, "0.0.0.0/0", "::/0")
	c.plug("r1", "red/lan", nil, "0.0.0.0/0", "::/0")
	for _, a := range card.Addrs {
		world.Soon(t, "r1 reaches b1", func() error { return c.machines["r1"].Ping(a.Addr(), "-W1") })
	}
	for _, name := range []string{"red", "blue"} {
		c.agents[name].AuditEmpty(t)
	}
	for name := range c.machines {
		cell.Must(t, c.service.Unplug(ctx, name, "eth0"))
	}

	c.boot("red", "blue")
	c.start("red")
	c.heddle(t, half)
	c.agents["red"].AuditEmpty(t)
	c.agents["red"].Stop()
	c.start("blue")
	if _, err := vpc.Delete(ctx, "red"); !errors.Is(err, heddle.NetworkInUse.Sentinel()) || !strings.Contains(err.Error(), "heddle vpc unpeer") {
		t.Errorf("a VPC with blue's half of a peering is deleted: %v", err)
	}
	c.start("red")
	if existed, err := vpc.Unpeer(ctx, of, "red", "blue"); !existed || err != nil {
		t.Errorf("blue's half ends: %v, %v", existed, err)
	}
}

// boot leaves of VPCs what is left by one.
func (c *cloud) boot(vpcs ...string) {
	c.t.Helper()
	for _, name := range vpcs {
		c.agents[name].Kill()
		cell.Sh(c.t, "ip netns delete %s", filepath.Base(vpc.Netns(name)))
		cell.Must(c.t, os.RemoveAll(filepath.Join(c.agents[name].Dir, "run")))
	}
}
