package modes_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// the uplink's addresses on both sides.
var (
	hostAddrs    = []netip.Addr{world.Host4, world.Host6}
	outsideAddrs = []netip.Addr{world.Outside4, world.Outside6}
	beyondAddrs  = []netip.Addr{world.Beyond4, world.Beyond6}
)

// TestReach: containers reach each other, the gateway, the host and the world,
// with the very first packet, and the host reaches them.
func TestReach(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		n := w.Network(t, "net", mode, world.With("masquerade=true"))
		a, b := w.Pod(t, "a", "net"), w.Pod(t, "b", "net")
		a.Reaches(t, all(b.Addrs(), n.Gateways, hostAddrs, outsideAddrs, beyondAddrs)...)
		b.Reaches(t, a.Addrs()...)
		w.Host.Reaches(t, all(a.Addrs(), b.Addrs())...)
		b.Serve(t, 7000, b.Addrs()...)
		a.Gets(t, "b", 7000, b.Addrs()...)
		w.Host.Gets(t, "b", 7000, b.Addrs()...)
		w.Host.Serve(t, 7001, all(n.Gateways, hostAddrs)...)
		a.Gets(t, "host", 7001, all(n.Gateways, hostAddrs)...)
	})
}

// TestSourceOutside: the outside sees the host's address where traffic is
// masqueraded, and else the container's own.
func TestSourceOutside(t *testing.T) {
	for _, c := range []struct {
		mode, option string
		masqueraded  bool
	}{
		{"bridge", "", true}, {"bridge", "masquerade=true", true}, {"bridge", "masquerade=false", false},
		{"routed", "", false}, {"routed", "masquerade=false", false}, {"routed", "masquerade=true", true},
	} {
		t.Run(c.mode+"/"+c.option, func(t *testing.T) {
			w := world.New(t)
			options := []world.NetworkOption{}
			if c.option != "" {
				options = append(options, world.With(c.option))
			}
			n := w.Network(t, "net", c.mode, options...)
			w.RouteToPods(t, n)
			w.Outside.Serve(t, 7000, outsideAddrs...)
			a := w.Pod(t, "a", "net")
			for _, to := range outsideAddrs {
				want := a.Addr(to)
				if c.masqueraded {
					want = map[bool]netip.Addr{true: world.Host4, false: world.Host6}[to.Is4()]
				}
				seenAs(t, a.Netns, to, want)
			}
		})
	}
}

func seenAs(t *testing.T, from world.Netns, to, want netip.Addr) {
	t.Helper()
	for _, proto := range []string{"tcp", "udp"} {
		got, err := from.Ask(proto, netip.AddrPortFrom(to, 7000))
		if err != nil {
			t.Error(err)
		} else if got.Seen != want {
			t.Errorf("%s sees %s over %s as %s, want %s", got.Server, from.Name, proto, got.Seen, want)
		}
	}
}

// TestMTU: inside is the uplink's MTU, or the one asked for; a packet of that
// size passes whole.
func TestMTU(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode, world.With("masquerade=true"))
		w.Network(t, "small", mode, world.With("masquerade=true"), func(n *heddle.Network) { n.MTU = 1300 })
		for network, mtu := range map[string]int{"net": world.UplinkMTU, "small": 1300} {
			a, b := w.Pod(t, "a-"+network, network), w.Pod(t, "b-"+network, network)
			if link := a.Sh(t, "ip link show dev eth0"); !strings.Contains(link, fmt.Sprintf("mtu %d ", mtu)) {
				t.Errorf("inside %s: %s, want MTU %d", network, link, mtu)
			}
			for _, to := range all(b.Addrs(), hostAddrs, outsideAddrs) {
				payload := mtu - map[bool]int{true: 28, false: 48}[to.Is4()]
				whole(t, a.Netns, to, payload, true)
				whole(t, a.Netns, to, payload+1, false)
			}
		}
	})
}

// whole pings with a payload that must, or cannot, pass without fragments.
func whole(t *testing.T, from world.Netns, to netip.Addr, payload int, passes bool) {
	t.Helper()
	wait := world.Refusal
	if passes {
		wait = world.Patience
	}
	err := from.Ping(to, "-M", "do", "-s", fmt.Sprint(payload), fmt.Sprintf("-W%.1f", wait.Seconds()))
	if (err == nil) != passes {
		t.Errorf("%d bytes from %s to %s: %v", payload, from.Name, to, err)
	}
}

// TestInside looks at a container's own side: loopback up, default routes by
// the gateways, and no IPv6 on an IPv4 network.
func TestInside(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		n := w.Network(t, "net", mode)
		w.Network(t, "v4", mode, world.OnlyV4)
		a, b, c := w.Pod(t, "a", "net"), w.Pod(t, "b", "v4"), w.Pod(t, "c", "v4")
		a.Reaches(t, netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"))
		for i, version := range []string{"-4", "-6"} {
			want := fmt.Sprintf("default via %s dev eth0 proto %d", n.Gateways[i], heddle.RouteProtocol)
			if got := a.Sh(t, "ip %s route show default", version); !strings.HasPrefix(got, want) {
				t.Errorf("default route %q, want %q", got, want)
			}
		}
		b.Reaches(t, c.V4())
		if got := b.Sh(t, "cat /proc/sys/net/ipv6/conf/eth0/disable_ipv6; ip -6 address show dev eth0; ip -6 route show dev eth0"); got != "1" {
			t.Errorf("IPv6 on an IPv4 network:\n%s", got)
		}
		if got := a.Sh(t, "cat /proc/sys/net/ipv6/conf/eth0/accept_ra"); got != "0" {
			t.Errorf("accept_ra inside is %s", got)
		}
	})
}

// TestSecondNetwork: a container's second network brings addresses, and leaves
// the default route with the first.
func TestSecondNetwork(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		first := w.Network(t, "first", mode, world.With("masquerade=true"))
		second := w.Network(t, "second", mode, world.With("masquerade=true"))
		a, b, c := w.Pod(t, "a", "first"), w.Pod(t, "b", "first"), w.Pod(t, "c", "second")
		e := a.Join(t, "second", world.As("eth1"))
		if !a.Endpoint.DefaultRoute || e.DefaultRoute {
			t.Errorf("default route: first %v, second %v", a.Endpoint.DefaultRoute, e.DefaultRoute)
		}
		for i, version := range []string{"-4", "-6"} {
			got := a.Sh(t, "ip %s route show default", version)
			if !strings.Contains(got, first.Gateways[i].String()+" dev eth0") || strings.Contains(got, "\n") {
				t.Errorf("default routes:\n%s", got)
			}
		}
		a.Reaches(t, all(b.Addrs(), c.Addrs(), first.Gateways, second.Gateways, outsideAddrs)...)
		for _, p := range e.Addrs {
			c.Reaches(t, p.Addr())
			b.Silent(t, p.Addr())
		}
	})
}
