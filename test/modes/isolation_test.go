package modes_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// pairs are the modes of two networks beside each other.
var pairs = [][2]string{{"bridge", "bridge"}, {"bridge", "routed"}, {"routed", "routed"}}

// TestIsolation: networks do not reach each other, until they are joined, and
// not any more when one is deleted and made again.
func TestIsolation(t *testing.T) {
	for _, p := range pairs {
		t.Run(p[0]+"-"+p[1], func(t *testing.T) {
			w := world.New(t)
			first, second := w.Network(t, "first", p[0]), w.Network(t, "second", p[1])
			a, b := w.Pod(t, "a", "first"), w.Pod(t, "b", "second")
			for _, pod := range []*world.Pod{a, b} {
				pod.Serve(t, 7000, pod.Addrs()...)
			}
			apart(t, a, b)
			cell.Must(t, w.Allow("first", "second"))
			together(t, a, b)
			cell.Must(t, w.Allow("second", "first"))
			b.Leave(t)
			cell.Must(t, w.DeleteNetwork("second"))
			w.AuditEmpty(t)
			_, _, err := w.CreateNetwork(w.Plan("second", p[1]), false)
			cell.Must(t, err)
			b.Join(t, "second")
			b.Serve(t, 7000, b.Addrs()...)
			apart(t, a, b)
			if again, _ := w.Agent.Network("first"); len(again.Allow) > 0 {
				t.Errorf("network first still allows %v (%s is deleted, %s lives)", again.Allow, second.ID, first.ID)
			}
		})
	}
}

// apart checks that two containers do not reach each other.
func apart(t *testing.T, a, b *world.Pod) {
	t.Helper()
	for _, way := range [][2]*world.Pod{{a, b}, {b, a}} {
		way[0].GetsNothing(t, 7000, way[1].Addrs()...)
		way[0].Silent(t, way[1].Addrs()...)
	}
}

// together checks that they do, with their own addresses.
func together(t *testing.T, a, b *world.Pod) {
	t.Helper()
	for _, way := range [][2]*world.Pod{{a, b}, {b, a}} {
		way[0].Reaches(t, way[1].Addrs()...)
		for _, to := range way[1].Addrs() {
			seenAs(t, way[0].Netns, to, way[0].Addr(to))
		}
	}
}

// TestInternal: an internal network reaches itself and the host; nothing leads
// out or in, not even a route.
func TestInternal(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		n := w.Network(t, "inner", mode, world.Internal)
		w.Network(t, "net", mode)
		a, b, c := w.Pod(t, "a", "inner"), w.Pod(t, "b", "inner"), w.Pod(t, "c", "net")
		w.RouteToPods(t, n)
		for _, pod := range []*world.Pod{a, c} {
			pod.Serve(t, 7000, pod.Addrs()...)
		}
		a.Reaches(t, all(b.Addrs(), n.Gateways)...)
		w.Host.Gets(t, "a", 7000, a.Addrs()...)
		if got := a.Sh(t, "ip -4 route show default; ip -6 route show default"); got != "" {
			t.Errorf("default route on an internal network: %s", got)
		}
		a.Sh(t, "ip route add default via %s; ip route add default via %s", n.Gateways[0], n.Gateways[1])
		w.Outside.Serve(t, 7000, outsideAddrs...)
		a.GetsNothing(t, 7000, all(outsideAddrs, c.Addrs())...)
		w.Outside.GetsNothing(t, 7000, a.Addrs()...)
		c.GetsNothing(t, 7000, a.Addrs()...)
		a.Silent(t, outsideAddrs...)
	})
}

// TestUnpublished: a neighbour on the LAN with a route to the subnet reaches no
// container of a bridge network, published port or not, but those of a routed
// one.
func TestUnpublished(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		n := w.Network(t, "net", mode)
		w.RouteToPods(t, n)
		a := w.Pod(t, "a", "net", world.Publish("8080:80/tcp"))
		a.Serve(t, 80, a.Addrs()...)
		a.Serve(t, 7000, a.Addrs()...)
		if mode == "routed" {
			w.Outside.Gets(t, "a", 7000, a.Addrs()...)
			w.Outside.Reaches(t, a.Addrs()...)
			return
		}
		w.Outside.GetsNothing(t, 7000, a.Addrs()...)
		w.Outside.GetsNothing(t, 80, a.Addrs()...)
		w.Outside.Silent(t, a.Addrs()...)
	})
}

// TestLoopbackOnly: what is published on 127.0.0.1 does not answer outside,
// though the neighbour has a route to it.
func TestLoopbackOnly(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode)
		a := w.Pod(t, "a", "net", world.Publish("127.0.0.1@8080:80/tcp"), world.Publish("127.0.0.1@8080:80/udp"))
		a.Serve(t, 80, a.Addrs()...)
		w.Host.Gets(t, "a", 8080, loopback4)
		w.Outside.Sh(t, "ip address del 127.0.0.1/8 dev lo; ip route add 127.0.0.1/32 via %s", world.Host4)
		w.Outside.Sh(t, "cat /proc/sys/net/ipv4/conf/eth0/route_localnet; sysctl -qw net.ipv4.conf.eth0.route_localnet=1")
		w.Outside.GetsNothing(t, 8080, loopback4, world.Host4)
		if got := w.Host.Sh(t, "cat /proc/sys/net/ipv4/conf/up0/route_localnet /proc/sys/net/ipv4/conf/all/route_localnet"); strings.Contains(got, "1") {
			t.Errorf("route_localnet of uplink and all: %s", got)
		}
	})
}

// TestFloor: an address of the subnet that nobody has is unreachable, and never
// asked for outside.
func TestFloor(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		n := w.Network(t, "net", mode, world.With("masquerade=true"))
		a := w.Pod(t, "a", "net")
		uplink := w.Host.Capture(t, "up0")
		for _, s := range n.Subnets {
			nobody := s.Addr()
			for range 200 {
				nobody = nobody.Next()
			}
			if mode == "routed" {
				unreachable(t, a.Netns, nobody)
				unreachable(t, w.Host, nobody)
			}
			a.Silent(t, nobody)
			w.Host.Silent(t, nobody)
		}
		a.Leave(t)
		w.Host.Silent(t, n.Subnets[0].Addr().Next().Next())
		for _, f := range uplink.Stop() {
			p := f.Packet()
			if layer := p.NetworkLayer(); layer != nil && p.TransportLayer() == nil {
				src, dst := layer.NetworkFlow().Endpoints()
				to, _ := netip.ParseAddr(dst.String())
				if n.Subnets[0].Contains(to) || n.Subnets[1].Contains(to) {
					t.Errorf("a packet from %s to %s left by the uplink", src, dst)
				}
			}
		}
	})
}

// unreachable wants an answer that says so, at once.
func unreachable(t *testing.T, from world.Netns, to netip.Addr) {
	t.Helper()
	err := from.Ping(to)
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), "unreachable") && !strings.Contains(err.Error(), "No route") {
		t.Errorf("ping from %s to an address that nobody has: %v", from.Name, err)
	}
}
