package modes_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

var loopback4 = netip.MustParseAddr("127.0.0.1")

// TestPorts: a published port is reached from outside, from the host by any of
// its addresses, from other containers and from the container itself.
func TestPorts(t *testing.T) {
	for _, setting := range []string{"bridge", "bridge nf", "routed"} {
		t.Run(setting, func(t *testing.T) { ports(t, setting) })
	}
}

func ports(t *testing.T, setting string) {
	w := world.New(t)
	mode, nf, _ := strings.Cut(setting, " ")
	if !w.BridgeNF(t, nf != "") {
		t.Skip("this kernel has no br_netfilter")
	}
	n := w.Network(t, "net", mode)
	w.Network(t, "other", mode)
	a := w.Pod(t, "a", "net", world.Publish("8080:80/tcp"), world.Publish("8080:80/udp"), world.Publish("9000:90/sctp"))
	b, c := w.Pod(t, "b", "net"), w.Pod(t, "c", "other")
	a.Serve(t, 80, a.Addrs()...)
	for _, at := range a.Addrs() {
		a.Listen(t, "sctp", netip.AddrPortFrom(at, 90))
	}
	w.Outside.GetsSCTP(t, "a", 9000, hostAddrs...)
	w.Host.GetsSCTP(t, "a", 9000, all(hostAddrs, n.Gateways, []netip.Addr{loopback4})...)
	for _, caller := range []world.Netns{b.Netns, c.Netns, a.Netns} {
		caller.GetsSCTP(t, "a", 9000, hostAddrs...)
	}
	w.Outside.Gets(t, "a", 8080, hostAddrs...)
	w.Host.Gets(t, "a", 8080, all(hostAddrs, n.Gateways, []netip.Addr{loopback4})...)
	b.Gets(t, "a", 8080, all(hostAddrs, n.Gateways)...)
	c.Gets(t, "a", 8080, hostAddrs...)
	a.Gets(t, "a", 8080, hostAddrs...)
	w.Outside.GetsNothing(t, 80, hostAddrs...)
	a.Leave(t)
	w.Outside.GetsNothing(t, 8080, hostAddrs...)
	w.Host.GetsNothing(t, 8080, all(hostAddrs, []netip.Addr{loopback4})...)
}

// TestPortMixedModes: a container on a network of another mode reaches a
// published port too.
func TestPortMixedModes(t *testing.T) {
	w := world.New(t)
	w.Network(t, "bridged", "bridge")
	w.Network(t, "routed", "routed")
	a := w.Pod(t, "a", "bridged", world.Publish("8080:80/tcp"), world.Publish("8080:80/udp"))
	b := w.Pod(t, "b", "routed", world.Publish("8081:80/tcp"), world.Publish("8081:80/udp"))
	a.Serve(t, 80, a.Addrs()...)
	b.Serve(t, 80, b.Addrs()...)
	b.Gets(t, "a", 8080, hostAddrs...)
	a.Gets(t, "b", 8081, hostAddrs...)
}

// TestPortOfHost: a mapping restricted to one address of the host answers only
// there, and another endpoint may have the same port at another address.
func TestPortOfHost(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Host.Sh(t, "ip address add 192.0.2.77/24 dev up0")
		w.Network(t, "net", mode)
		a := w.Pod(t, "a", "net", world.Publish("192.0.2.1@8080:80/tcp"), world.Publish("192.0.2.1@8080:80/udp"))
		b := w.Pod(t, "b", "net", world.Publish("127.0.0.1@8080:80/tcp"), world.Publish("127.0.0.1@8080:80/udp"))
		a.Serve(t, 80, a.Addrs()...)
		b.Serve(t, 80, b.Addrs()...)
		w.Outside.Gets(t, "a", 8080, world.Host4)
		w.Host.Gets(t, "a", 8080, world.Host4)
		w.Host.Gets(t, "b", 8080, loopback4)
		second := netip.MustParseAddr("192.0.2.77")
		w.Outside.GetsNothing(t, 8080, second, world.Host6)
		w.Host.GetsNothing(t, 8080, second, world.Host6)
	})
}

// TestPortOfAddress6: the same with an IPv6 address of the host.
func TestPortOfAddress6(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode)
		a := w.Pod(t, "a", "net", world.Publish("2001:db8::1@8080:80/tcp"), world.Publish("2001:db8::1@8080:80/udp"))
		a.Serve(t, 80, a.Addrs()...)
		w.Outside.Gets(t, "a", 8080, world.Host6)
		w.Host.Gets(t, "a", 8080, world.Host6)
		w.Outside.GetsNothing(t, 8080, world.Host4)
		w.Host.GetsNothing(t, 8080, world.Host4, loopback4)
	})
}

// TestPortOfFamily: a port at all addresses of one family leaves the other's alone.
func TestPortOfFamily(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode)
		a := w.Pod(t, "a", "net", world.Publish("0.0.0.0@8080:80/tcp"), world.Publish("0.0.0.0@8080:80/udp"))
		a.Serve(t, 80, a.Addrs()...)
		w.Outside.Gets(t, "a", 8080, world.Host4)
		w.Outside.GetsNothing(t, 8080, world.Host6)
		b := w.Pod(t, "b", "net", world.Publish("::@8080:80/tcp"), world.Publish("::@8080:80/udp"))
		b.Serve(t, 80, b.Addrs()...)
		w.Outside.Gets(t, "a", 8080, world.Host4)
		w.Outside.Gets(t, "b", 8080, world.Host6)
	})
}

// TestPortElsewhere: a packet to the same port of an address that is not the
// host's is forwarded and not redirected.
func TestPortElsewhere(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode, world.With("masquerade=true"))
		a, b := w.Pod(t, "a", "net", world.Publish("7000:80/tcp"), world.Publish("7000:80/udp")), w.Pod(t, "b", "net")
		a.Serve(t, 80, a.Addrs()...)
		w.Outside.Serve(t, 7000, all(outsideAddrs, beyondAddrs)...)
		b.Gets(t, "outside", 7000, all(outsideAddrs, beyondAddrs)...)
		w.Host.Gets(t, "outside", 7000, all(outsideAddrs, beyondAddrs)...)
	})
}

// TestPortRefused: internal networks publish nothing, and a port has one
// publisher.
func TestPortRefused(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode)
		w.Network(t, "inner", mode, world.Internal)
		w.Pod(t, "a", "net", world.Publish("8080:80/tcp"))
		w.Host.Serve(t, 9090, world.Host4)
		spare := world.NewNetns(t, "spare")
		before, inside := w.Host.Dump(t), spare.Dump(t)
		refuse := func(network, port string, code heddle.Code) {
			t.Helper()
			_, err := w.Attach(ctx, w.Request(spare, network, world.Publish(port)))
			wantCode(t, err, code)
		}
		refuse("inner", "8081:80/tcp", heddle.BadPort)
		refuse("net", "8080:81/tcp", heddle.PortTaken)
		refuse("net", "192.0.2.1@8080:81/tcp", heddle.PortTaken)
		refuse("net", "9090:80/tcp", heddle.PortTaken)
		refuse("net", "9090:80/udp", heddle.PortTaken)
		refuse("net", "192.0.2.1@9090:80/udp", heddle.PortTaken)
		refuse("net", "9091:80/icmp", heddle.BadPort)
		same(t, "after refusals", before+inside, w.Host.Dump(t)+spare.Dump(t))
		w.Pod(t, "b", "net", world.Publish("8080:80/udp"), world.Publish("127.0.0.1@9090:80/tcp"))
	})
}
