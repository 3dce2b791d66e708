package vpc_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestRouteFlows: a flow that is tracked does not follow a route to a network that its sender may not talk with, whatever makes its packets go there.
// Flows to prefixes that lead where they led stay.
func TestRouteFlows(t *testing.T) {
	c := newCloud(t, []string{"red"}, map[string][]string{"db": {"red/db"}, "hop": {"red/lan"}, "other": {"red/far"}})
	defer c.end()
	c.network("red", "lan", "10.1.0.0/24", "fd01::/64")
	c.network("red", "db", "10.1.1.0/24", "fd11::/64")
	c.network("red", "far", "10.1.2.0/24", "fd12::/64")
	cell.Must(t, c.agents["red"].Allow(context.Background(), "lan", "db"))
	own4, own6 := c.ends("db", "red/db")
	four, six := c.ends("hop", "red/lan")
	other4, other6 := c.ends("other", "red/far")
	stays := []netip.Addr{netip.MustParseAddr("192.168.60.7"), netip.MustParseAddr("fd60::7"), netip.MustParseAddr(four), netip.MustParseAddr(six)}
	c.has("hop", append(stays[:2:2], beyond...)...)
	c.machines["hop"].Serve(t, port, stays[2:]...)
	c.has("other", beyond...)
	source := func(to netip.Addr) netip.Addr {
		if to.Is6() {
			return netip.MustParseAddr(own6)
		}
		return netip.MustParseAddr(own4)
	}
	ask := func(to netip.Addr, limit time.Duration) (string, error) { // always from the same port: the same flow
		from := source(to)
		a, err := c.machines["db"].AskFrom("udp", netip.AddrPortFrom(from, 40000), netip.AddrPortFrom(to, port), limit)
		return a.Server, err
	}
	goes := func(all ...netip.Addr) {
		t.Helper()
		for _, to := range all {
			if server, err := ask(to, world.Patience); server != "hop" {
				t.Errorf("a datagram to %s comes to %q: %v", to, server, err)
			}
		}
	}
	cut := func(when string) {
		t.Helper()
		seen := c.machines["other"].Capture(t, "eth0")
		for _, to := range beyond {
			if server, err := ask(to, world.Refusal); err == nil {
				t.Errorf("%s, a flow to %s goes on with %s", when, to, server)
			}
		}
		if n := world.Count(seen.Stop(), func(f world.Frame) bool { return !f.Out && world.Contains("hello")(f) }); n > 0 {
			t.Errorf("%s, %d datagrams come to a next hop that the sender may not talk with", when, n)
		}
	}
	c.routed("0.0.0.0/0", four)
	c.routed("::/0", six)
	goes(beyond...)
	goes(stays...)
	tracked := func() (n int) {
		for _, to := range stays {
			n += len(c.netns("red").Tracked(t, source(to), to))
		}
		return n
	}
	before := tracked()
	c.routed(beyondRoutes[0], other4)
	c.routed(beyondRoutes[1], other6)
	cut("with a longer prefix")
	c.unrouted(beyondRoutes...)
	goes(beyond...)
	if after := tracked(); after != before || before != len(stays) {
		t.Errorf("%d flows to other prefixes are left of %d", after, before)
	}
	c.routed(beyondRoutes[0], four)
	c.routed(beyondRoutes[1], six)
	goes(beyond...)
	c.unrouted(beyondRoutes...)
	c.unrouted("0.0.0.0/0", "::/0")
	c.routed(beyondRoutes[0], other4)
	c.routed(beyondRoutes[1], other6)
	cut("with another next hop")
	c.unrouted(beyondRoutes...)
}
