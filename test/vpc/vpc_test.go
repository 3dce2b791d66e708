package vpc_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
	"github.com/heddle-network/heddle/vpc"
)

// port is where servers answer with their names.
const port = 7000

// five and nine are the addresses that a machine of each VPC has.
var (
	five = []netip.Addr{netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("fd00::5")}
	nine = []netip.Addr{netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("fd00::9")}
)

// TestApart: two VPCs and the host have networks of the same name and addresses, and machines with the same addresses. Each reaches its own
// neighbours, and no frame of it is in another VPC, whatever root in a machine sends. A machine has NICs of two VPCs.
func TestApart(t *testing.T) {
	all := []string{"red/lan", "blue/lan", "lan"}
	c := newCloud(t, []string{"red", "blue"}, map[string][]string{"r5": {"red/lan"}, "r9": {"red/lan"}, "b5": {"blue/lan"}, "b9": {"blue/lan"}, "h5": {"lan"}, "h9": {"lan"},
		"both": append([]string{"blue/db"}, all...)})
	defer c.end()
	for _, in := range []string{"", "red", "blue"} {
		c.network(in, "lan", "10.0.0.0/24", "fd00::/64")
	}
	c.network("blue", "db", "10.9.0.0/24", "fd09::/64")
	for vpc, names := range map[string][2]string{"red/lan": {"r5", "r9"}, "blue/lan": {"b5", "b9"}, "lan": {"h5", "h9"}} {
		c.plug(names[0], vpc, five, "0.0.0.0/0", "::/0")
		c.plug(names[1], vpc, nine, "0.0.0.0/0", "::/0")
		c.machines[names[0]].Serve(t, port, five...)
		c.machines[names[1]].Serve(t, port, nine...)
	}
	same := func() {
		t.Helper()
		for from, to := range map[string]string{"r9": "r5", "b9": "b5", "h9": "h5"} {
			c.machines[from].Gets(t, to, port, five...)
		}
	}
	same()
	t.Run("frames", func(t *testing.T) { framesApart(t, c) })
	t.Run("flows", func(t *testing.T) { flowsApart(t, c) })
	t.Run("granted", func(t *testing.T) { granted(t, c) })
	t.Run("both", func(t *testing.T) { both(t, c) })
	t.Run("killed", func(t *testing.T) {
		for _, name := range []string{"red", "blue"} {
			c.agents[name].Kill()
		}
		same() // without agents
		if _, err := c.service.List(context.Background(), "r5"); err == nil || strings.Contains(err.Error(), ".sock") {
			t.Errorf("NICs are listed though an agent is away, so that a device would be taken for one without a port, or the machine learns of others: %v", err)
		}
		if _, err := c.service.Plug(context.Background(), "r5", nic.Order{Token: "more", Network: "red/lan"}); err == nil {
			t.Error("a NIC is plugged in a VPC whose agent is away")
		}
		others(t, c)
		before, err := os.Stat(vpc.Netns("red"))
		cell.Must(t, err)
		for _, name := range []string{"red", "blue"} {
			c.start(name).AuditEmpty(t)
		}
		if after, err := os.Stat(vpc.Netns("red")); err != nil || !os.SameFile(before, after) {
			t.Errorf("the VPC has another namespace: %v", err)
		}
		same()
		for _, name := range []string{"red", "blue"} { // they hang
			cell.Must(t, syscall.Kill(c.agents[name].Pid(), syscall.SIGSTOP))
			defer syscall.Kill(c.agents[name].Pid(), syscall.SIGCONT)
		}
		others(t, c)
	})
	t.Run("delete", func(t *testing.T) {
		if _, err := vpc.Delete(context.Background(), "red"); !errors.Is(err, heddle.AgentRuns.Sentinel()) {
			t.Errorf("a VPC whose agent runs: %v", err)
		}
		c.agents["red"].Stop()
		if _, err := vpc.Delete(context.Background(), "red"); !errors.Is(err, heddle.NetworkInUse.Sentinel()) || !strings.Contains(err.Error(), "hd") {
			t.Errorf("a VPC with ports: %v", err)
		}
		same()
		c.start("red").AuditEmpty(t)
		if existed, err := vpc.Delete(context.Background(), "green"); existed || err != nil {
			t.Errorf("a VPC that is not there: %v, %v", existed, err)
		}
	})
}

// others: while the agents of VPCs are away, or hang, a machine of the host's networks alone gets NICs.
func others(t *testing.T, c *cloud) {
	t.Helper()
	ctx := context.Background()
	if _, err := c.service.Plug(ctx, "h5", nic.Order{Token: "more", Network: "lan"}); err != nil {
		t.Fatalf("a NIC on a network of the host's, while agents of VPCs are away: %v", err)
	}
	if all, err := c.service.List(ctx, "h5"); err != nil || len(all) != 2 {
		t.Errorf("while agents of VPCs are away, there are %+v, %v", all, err)
	}
	cell.Must(t, c.service.Unplug(ctx, "h5", "more"))
}

// framesApart sends, in VPC red, what would reach others if anything could: each kind of frame comes to the own neighbour, and to nobody else.
func framesApart(t *testing.T, c *cloud) {
	from, to := c.machines["r5"], c.machines["r9"]
	own := to.Capture(t, "eth0")
	var others []*world.Capture
	for _, n := range []string{"b5", "b9", "h5", "h9"} {
		others = append(others, c.machines[n].Capture(t, "eth0"))
	}
	for _, in := range []string{"", "blue"} {
		n := c.netns(in)
		for link := range strings.FieldsSeq(n.Sh(t, "ls /proc/sys/net/ipv4/conf")) {
			if strings.HasPrefix(link, heddle.PrefixBridge) || strings.HasPrefix(link, heddle.PrefixPort) {
				others = append(others, n.Capture(t, link))
			}
		}
	}
	const mark = "from-red-machine"
	say := func(to netip.Addr) {
		if c, err := from.Dial("udp", netip.AddrPort{}, netip.AddrPortFrom(to, 9), world.Patience); err == nil {
			if _, err := c.Write([]byte(mark)); err != nil { // what the kernel says of the first packet
				c.Write([]byte(mark))
			}
			c.Close()
		}
	}
	for _, a := range nine {
		say(a)
	}
	// what nobody of the VPC has: a neighbour of VPC blue alone, and a source of its own
	from.Sh(t, "ip address add 10.9.0.77/32 dev lo; ip route add 10.9.0.0/24 via 10.0.0.1 src 10.9.0.77; ip -6 route add fd09::/64 via fd00::1")
	say(netip.MustParseAddr("10.9.0.1"))
	say(netip.MustParseAddr("fd09::1"))
	from.Sh(t, "arping -q -c1 -w1 -I eth0 10.9.0.1 || true; ip neigh flush dev eth0; ip neigh replace 10.9.0.1 lladdr ff:ff:ff:ff:ff:ff dev eth0; ip route replace 10.9.0.0/24 dev eth0")
	say(netip.MustParseAddr("10.9.0.1"))
	from.Sh(t, "ip route del 10.9.0.0/24; ip -6 route del fd09::/64; ip address del 10.9.0.77/32 dev lo")
	is := world.Contains(mark)
	came := func(f world.Frame) bool { return is(f) && !f.Out }
	own.Await(2, came)
	if n := world.Count(own.Stop(), came); n != 2 {
		t.Errorf("the neighbour has seen %d frames, want 2", n)
	}
	for _, o := range others {
		if n := world.Count(o.Stop(), func(f world.Frame) bool { return is(f) || world.Contains(string([]byte{10, 9, 0, 77}))(f) }); n > 0 {
			t.Errorf("%d frames have come into another VPC", n)
		}
	}
}

// flowsApart: what a policy of a VPC refuses is shown there, and in no other, though the addresses are the same.
func flowsApart(t *testing.T, c *cloud) {
	c.heddle(t, `echo 'policies: [{name: shut, endpoints: {labels: {heddle.nic.machine: r5}}, directions: [ingress]}]' | heddle --vpc red policy create /dev/stdin`)
	c.machines["b9"].Gets(t, "b5", port, five...)
	c.machines["r9"].GetsNothing(t, port, five...)
	world.Soon(t, "both packets are shown", func() error {
		said := c.heddle(t, "heddle --vpc red flows --filter policy=shut")
		if strings.Contains(said, " ingress udp 10.0.0.9:") && strings.Contains(said, " ingress udp [fd00::9]:") && strings.Contains(said, fmt.Sprintf(" to [fd00::5]:%d, ", port)) {
			return nil
		}
		return errors.New(said)
	})
	if said := c.heddle(t, "heddle --vpc blue flows; heddle --socket %s flows", c.agents[""].Socket); said != "" {
		t.Errorf("shown elsewhere is %s", said)
	}
	c.heddle(t, "heddle --vpc red policy delete shut")
}

// granted: a machine has no NIC of a VPC that its grant does not name, and learns nothing of it.
func granted(t *testing.T, c *cloud) {
	for _, network := range []string{"blue/lan", "blue/db", "green/lan", "lan", "red/none", "red/lan/x", "/lan", "red/"} {
		_, err := c.service.Plug(context.Background(), "r5", nic.Order{Token: "x", Network: network})
		if !errors.Is(err, heddle.NICNotGranted.Sentinel()) && !errors.Is(err, heddle.BadName.Sentinel()) {
			t.Errorf("a NIC on %s: %v", network, err)
		}
	}
	offer, err := c.service.Describe(context.Background(), "r5")
	if cell.Must(t, err); len(offer.Networks) != 1 || offer.Networks[0] != "red/lan" {
		t.Errorf("the offer is %+v", offer)
	}
	all, err := c.service.List(context.Background(), "r5")
	if cell.Must(t, err); len(all) != 1 || all[0].Network != "red/lan" {
		t.Errorf("its NICs are %+v", all)
	}
}

// both: a machine with NICs of two VPCs reaches the neighbours of each. Those do not reach each other by it, though root there forwards.
func both(t *testing.T, c *cloud) {
	m := c.machines["both"]
	in := c.plug("both", "red/lan", nil)
	out := c.plug("both", "blue/db", nil)
	m.Gets(t, "r9", port, nine...)
	m.Serve(t, port, in.Addrs[0].Addr(), in.Addrs[1].Addr(), out.Addrs[0].Addr(), out.Addrs[1].Addr())
	c.machines["r9"].Gets(t, "both", port, in.Addrs[0].Addr(), in.Addrs[1].Addr())
	gateways := []netip.Addr{netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("fd09::1")}
	m.Reaches(t, gateways...)
	m.Sh(t, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
	r := c.machines["r9"]
	r.Sh(t, "ip route add 10.9.0.0/24 via %s; ip -6 route add fd09::/64 via %s", in.Addrs[0].Addr(), in.Addrs[1].Addr())
	seen := m.Capture(t, "eth1")
	r.Silent(t, gateways...)
	passed := 0
	for _, f := range seen.Stop() {
		if f.Out && world.Contains(string(nine[0].AsSlice()))(f) {
			passed++
		}
	}
	if passed == 0 {
		t.Error("the machine has forwarded nothing: this proves nothing")
	}
	drops, err := c.agents["blue"].Status(context.Background())
	cell.Must(t, err)
	if drops.Drops["spoofed-ip"] == 0 {
		t.Errorf("blue's guard counts %v", drops.Drops)
	}
	r.Sh(t, "ip route del 10.9.0.0/24; ip -6 route del fd09::/64")
}
