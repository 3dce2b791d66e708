package modes_test

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// TestUntracked: what routed containers of one network send each other is not
// tracked; what they send a machine of the LAN whose addresses they share is, and
// is masqueraded.
func TestUntracked(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "routed", world.With("masquerade=true"), func(n *heddle.Network) {
		n.Parent, n.Subnets = "up0", []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("2001:db8::/64")}
		n.Ranges = []netip.Prefix{netip.MustParsePrefix("192.0.2.128/25"), netip.MustParsePrefix("2001:db8::100/120")}
		n.Gateways = []netip.Addr{netip.MustParseAddr("192.0.2.254"), netip.MustParseAddr("2001:db8::fe")}
	})
	a, b := w.Pod(t, "a", "net"), w.Pod(t, "b", "net", world.Publish("8080:7000/tcp"), world.Publish("8080:7000/udp"))
	b.Serve(t, 7000, b.Addrs()...)
	w.Outside.Serve(t, 7000, world.Outside4, world.Outside6)
	w.Host.ForgetFlows(t)
	a.Gets(t, "b", 7000, b.Addrs()...)
	for _, to := range b.Addrs() {
		if err := a.Ping(to, "-s", "6000"); err != nil {
			t.Errorf("fragments: %v", err)
		}
		seenAs(t, a.Netns, to, a.Addr(to))
		for _, flow := range [][2]netip.Addr{{a.Addr(to), to}, {to, a.Addr(to)}} {
			if flows := w.Host.Tracked(t, flow[0], flow[1]); len(flows) > 0 {
				t.Errorf("tracked: %v", flows)
			}
		}
	}
	a.Gets(t, "outside", 7000, world.Outside4, world.Outside6)
	seenAs(t, a.Netns, world.Outside4, world.Host4)
	seenAs(t, a.Netns, world.Outside6, world.Host6)
	a.Gets(t, "b", 8080, world.Host4, world.Host6, netip.MustParseAddr("192.0.2.254"))
	w.Outside.Gets(t, "b", 8080, world.Host4, world.Host6)
}
