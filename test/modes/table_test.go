package modes_test

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// The second uplink's addresses, and those of the host behind it.
var (
	secondHost    = []netip.Addr{netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("2001:db8:2::1")}
	secondOutside = []netip.Addr{netip.MustParseAddr("198.51.100.2"), netip.MustParseAddr("2001:db8:2::2")}
)

// secondUplink gives the host another NIC, to a world of its own that has the
// same addresses beyond.
func secondUplink(t *testing.T) world.Netns {
	t.Helper()
	p := world.NewNetns(t, "second")
	cell.Sh(t, `ip link add up1 mtu 1300 type veth peer name eth0 mtu 1300 netns second
		ip -n second link set lo up
		ip address add %s/24 dev up1; ip address add %s/64 dev up1 nodad
		ip -n second address add %s/24 dev eth0; ip -n second address add %s/64 dev eth0 nodad
		ip -n second address add %s/32 dev lo; ip -n second address add %s/128 dev lo nodad
		ip link set up1 up; ip -n second link set eth0 up`,
		secondHost[0], secondHost[1], secondOutside[0], secondOutside[1], world.Beyond4, world.Beyond6)
	t.Cleanup(func() { cell.TrySh("ip link del up1") })
	world.Ready(t, "up1", p)
	world.Netns{Name: "host"}.Reaches(t, secondOutside...)
	return p
}

// TestPolicyTable: a network with a table of its own leaves by its parent, both
// ways; the others by the host's default route.
func TestPolicyTable(t *testing.T) {
	w := world.New(t)
	second := secondUplink(t)
	n := w.Network(t, "second", "routed", world.With("table=auto"), world.With("next-hop=198.51.100.2+2001:db8:2::2"),
		func(n *heddle.Network) { n.Parent = "up1" })
	other := w.Network(t, "other", "routed")
	w.RouteToPods(t, other)
	for i, s := range n.Subnets {
		second.Sh(t, "ip route add %s via %s", s, secondHost[i])
	}
	a, a2, b := w.Pod(t, "a", "second", world.Publish("8080:80/tcp"), world.Publish("8080:80/udp")), w.Pod(t, "a2", "second"), w.Pod(t, "b", "other")
	if a.Endpoint.MTU != 1300 || b.Endpoint.MTU != world.UplinkMTU {
		t.Errorf("MTU %d and %d, want those of the parents", a.Endpoint.MTU, b.Endpoint.MTU)
	}
	second.Serve(t, 7000, beyondAddrs...)
	w.Outside.Serve(t, 7000, beyondAddrs...)
	main := w.Host.Capture(t, "up0")
	a.Gets(t, "second", 7000, beyondAddrs...)
	for _, to := range beyondAddrs {
		seenAs(t, a.Netns, to, a.Addr(to))
	}
	a.Serve(t, 80, a.Addrs()...)
	a.Serve(t, 7000, a.Addrs()...)
	second.Gets(t, "a", 7000, a.Addrs()...)
	second.Gets(t, "a", 8080, secondHost...)
	a2.Gets(t, "a", 7000, a.Addrs()...)
	w.Host.Gets(t, "a", 7000, a.Addrs()...)
	for _, f := range main.Stop() {
		for _, addr := range a.Addrs() {
			if world.Contains(string(addr.AsSlice()))(f) {
				t.Errorf("a packet of the second uplink's network left by the first: %s", f.Packet())
			}
		}
	}
	b.Gets(t, "outside", 7000, beyondAddrs...)
}
