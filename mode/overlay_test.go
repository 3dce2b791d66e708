package mode_test

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/overlay"
	"github.com/heddle-network/heddle/path"
)

// overlays are the variants of mode overlay: with two hosts, and alone.
func overlays() []variant {
	both := []string{"192.0.2.10", "2001:db8::10"}
	internal := func(n *heddle.Network, e *heddle.Endpoint) {
		n.Internal, n.Subnets, n.Gateways = true, n.Subnets[:1], n.Gateways[:1]
		e.Addrs, e.Ports = e.Addrs[:1], nil
	}
	quiet := func(_ *heddle.Network, e *heddle.Endpoint) { e.Ports = nil }
	return []variant{
		spanning("overlay", "A dual-stack network on two hosts, `demo` and `other`, over IPv4, and an endpoint with two published ports. `other` has an address out of the first block, which is `demo`'s.",
			both, []string{"192.0.2.11", "2001:db8::11"}, nil),
		spanning("overlay-v6", "The same over IPv6: IPv4's next hop is the peer's link-local address.", both, []string{"2001:db8::11"}, quiet),
		spanning("overlay-internal", "An internal network (`--internal`), IPv4 only.", both[:1], []string{"192.0.2.11"}, internal),
		spanning("overlay-names", "A container of Docker's on a host with a resolver, which answers in place of the host's name servers.", both, []string{"192.0.2.11", "2001:db8::11"},
			func(n *heddle.Network, e *heddle.Endpoint) {
				e.Ports, e.NameServers = nil, []netip.Addr{netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("2001:db8::53")}
			}),
		spanning("overlay-alone", "A host without a store: all of the subnet is its own.", nil, nil, quiet),
	}
}

// spanning is a variant on a host with the first underlay addresses, and a peer
// with the others.
func spanning(name, about string, self, peer []string, change func(*heddle.Network, *heddle.Endpoint)) variant {
	v := variant{name: name, about: about, mode: overlay.Mode{}}
	v.network, v.endpoint = demo("overlay", change)
	facts := facts
	if self != nil {
		v.fabric = fabric(v.network, clusterHost("demo", 1400, self), clusterHost("other", 1380, peer))
		facts.Fabric = v.fabric
	}
	v.endpoint.MTU = overlay.Mode{}.MTU(facts, v.network)
	return v
}

func clusterHost(name string, mtu int, underlay []string) heddle.Host {
	h := heddle.Host{Name: name, ID: "id of " + name, MTU: mtu, PrivilegedPorts: true}
	for _, a := range underlay {
		h.Underlay = append(h.Underlay, netip.MustParseAddr(a))
	}
	return h
}

// fabric gives each host a block of every subnet, and the peer one address out of
// the other's.
func fabric(n heddle.Network, self, peer heddle.Host) *heddle.Fabric {
	f := &heddle.Fabric{Cluster: "demo", VNI: heddle.VNIOf("demo"), Port: path.Default().Port(), Self: self, Peers: []heddle.Host{peer}, Networks: []heddle.Network{n}}
	for _, s := range n.Subnets {
		first := heddle.BlockOf(s, s.Masked().Addr())
		second := heddle.BlockOf(s, heddle.LastAddr(first).Next())
		f.Blocks = append(f.Blocks, heddle.Block{Network: n.ID, Prefix: first, Host: self.ID}, heddle.Block{Network: n.ID, Prefix: second, Host: peer.ID})
		source := heddle.LastAddr(first).Prev()
		f.Sources = append(f.Sources, heddle.Pin{Network: n.ID, Addr: source, Host: self.ID})
		f.Pins = append(f.Pins, heddle.Pin{Network: n.ID, Addr: source.Prev(), Host: peer.ID})
	}
	return f
}

// TestLeftToTheStack: what IPsec looks after has no way past the host's stack, and a
// single address there is not found in a block of another peer.
func TestLeftToTheStack(t *testing.T) {
	n, _ := demo("overlay", nil)
	f := fabric(n, clusterHost("demo", 1400, []string{"192.0.2.10"}), clusterHost("other", 1400, []string{"192.0.2.11"}))
	safe := clusterHost("safe", 1400, []string{"192.0.2.12"})
	f.Peers = append(f.Peers, safe)
	pin := netip.MustParseAddr("10.20.0.20")
	f.Pins = append(f.Pins, heddle.Pin{Network: n.ID, Addr: pin, Host: safe.ID})
	facts := facts
	facts.Fabric = f
	find := func() (remotes []netip.Addr, at heddle.Shortcut) {
		t.Helper()
		for _, r := range (overlay.Mode{}).Reach(facts).Host.Remotes {
			remotes = append(remotes, r.Addr)
		}
		p, err := overlay.Mode{}.Network(facts, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range p.Host.Shortcuts {
			if x.Prefix == heddle.Single(pin) {
				at = x
			}
		}
		return remotes, at
	}
	if remotes, at := find(); len(remotes) != 2 || at.Peer != safe.Underlay[0] {
		t.Errorf("without IPsec: peers %v, %s at %v", remotes, pin, at)
	}
	facts.Secured = []heddle.Secured{{Local: netip.MustParsePrefix("192.0.2.10/32"), Remote: netip.MustParsePrefix("192.0.2.12/32")},
		{Local: netip.MustParsePrefix("192.0.2.9/32"), Remote: netip.MustParsePrefix("0.0.0.0/0")}}
	if remotes, at := find(); len(remotes) != 1 || remotes[0] == safe.Underlay[0] || at != (heddle.Shortcut{Prefix: heddle.Single(pin), Group: n.Group()}) {
		t.Errorf("with IPsec towards %s: peers %v, %s at %v", safe.Name, remotes, pin, at)
	}
}
