package overlay

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// Reach plans the tunnel devices, of each peer a neighbour and a forwarding entry,
// and the chains in front: a peer may send from its own blocks, others nothing.
func (Mode) Reach(h heddle.HostFacts) heddle.Plan {
	f := h.Fabric
	s := heddle.State{Firewall: firewall.TunnelChains(f), Elements: firewall.TunnelWays(f)}
	for _, family := range heddle.Families() {
		if _, used := f.Self.UnderlayFor(family); used {
			device(h, family, &s)
		}
	}
	for _, p := range f.Peers {
		if family, ok := heddle.Path(f.Self, p); ok {
			peer(f, p, family, &s)
		}
	}
	if anyFast(f) {
		wire(h, &s)
	}
	return heddle.Plan{Host: s}
}

func device(h heddle.HostFacts, family heddle.Family, s *heddle.State) {
	f := h.Fabric
	name := f.TunnelName(family)
	local, _ := f.Self.UnderlayFor(family)
	s.Links = append(s.Links, heddle.Link{Name: name, Kind: "vxlan", MTU: f.Self.MTU - heddle.TunnelOverhead(family), MAC: f.Self.TunnelMAC(),
		Group: f.TunnelGroup(), Alias: f.TunnelAlias(), NoAutoAddress: true,
		Tunnel: &heddle.Tunnel{VNI: f.VNI, Local: local, Port: f.Port, SoftChecksums: f.SoftChecksums}})
	s.Sysctls = append(s.Sysctls,
		heddle.Sysctl{Name: "net/ipv4/conf/" + name + "/rp_filter", Value: "2"},
		heddle.Sysctl{Name: "net/ipv6/conf/" + name + "/disable_ipv6", Value: "0"},
		heddle.Sysctl{Name: "net/ipv6/conf/" + name + "/accept_ra", Value: "0"})
	s.Addresses = append(s.Addresses, heddle.Address{Link: name, Prefix: netip.PrefixFrom(f.Self.TunnelMAC().LinkLocal(), 64)})
}

// peer plans the way to a peer, and what it may send: out of its blocks, from
// single addresses of others' blocks, and from its tunnel's own.
func peer(f *heddle.Fabric, p heddle.Host, family heddle.Family, s *heddle.State) {
	name, outer := f.TunnelName(family), outerOf(p, family)
	s.Forwards = append(s.Forwards, heddle.Forward{Link: name, MAC: p.TunnelMAC(), Dst: outer})
	if family == heddle.IPv4 {
		s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: name, Addr: outer, MAC: p.TunnelMAC()})
	}
	s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: name, Addr: p.TunnelMAC().LinkLocal(), MAC: p.TunnelMAC()})
	s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "peers" + family.Digit(), Match: []string{outer.String()}})
	if p.PrivilegedPorts {
		s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "privileged" + family.Digit(), Match: []string{outer.String()}})
	}
	for _, a := range p.Underlay {
		s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "hosts" + heddle.FamilyOf(a).Digit(), Match: []string{a.String()}})
	}
	admit := func(set string, from netip.Prefix, text string) {
		set += family.Digit() + heddle.FamilyOf(from.Addr()).Digit()
		s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: set, Match: []string{outer.String(), text}})
	}
	for _, b := range f.Blocks {
		if b.Host == p.ID {
			admit("origins", b.Prefix, b.Prefix.String())
		}
	}
	strays := []netip.Addr{p.TunnelMAC().LinkLocal()}
	for _, pin := range f.Pins {
		if pin.Host == p.ID {
			strays = append(strays, pin.Addr)
		}
	}
	for _, a := range strays {
		admit("strays", heddle.Single(a), a.String())
	}
}

func outerOf(p heddle.Host, family heddle.Family) netip.Addr {
	a, _ := p.UnderlayFor(family)
	return a
}

// ways adds a network's routes to the blocks and addresses of other hosts, and the
// host's own address as their source.
func ways(h heddle.HostFacts, n heddle.Network, s *heddle.State) {
	f := h.Fabric
	device := ""
	for _, family := range heddle.Families() {
		if _, used := f.Self.UnderlayFor(family); used && device == "" {
			device = f.TunnelName(family)
		}
	}
	if device == "" {
		return
	}
	s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "spans", Match: []string{fmt.Sprintf("%#x", n.Group())}})
	for _, family := range heddle.Families() {
		if source, ok := f.Source(n.ID, family); ok {
			s.Addresses = append(s.Addresses, heddle.Address{Link: device, Prefix: heddle.Single(source)})
			s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "gate" + family.Digit(), Match: []string{source.String()}, Value: []string{"jump " + n.ChainName("gate")}})
		}
	}
	for _, b := range f.Blocks {
		if b.Network == n.ID {
			s.Routes = append(s.Routes, way(f, n, b.Prefix, b.Host)...)
			s.Shortcuts = append(s.Shortcuts, shortcut(h, n, b.Prefix, b.Host)...)
		}
	}
	for _, p := range f.Pins {
		if p.Network == n.ID {
			s.Routes = append(s.Routes, way(f, n, heddle.Single(p.Addr), p.Host)...)
			s.Shortcuts = append(s.Shortcuts, shortcut(h, n, heddle.Single(p.Addr), p.Host)...)
		}
	}
	for _, g := range n.Gateways {
		if n.Fast() {
			// every host has them, whoever has the block that they lie in
			s.Shortcuts = append(s.Shortcuts, heddle.Shortcut{Prefix: heddle.Single(g), Group: n.Group()})
		}
	}
}

// way is the route to a prefix that a peer has; none to this host's own, or to
// those of a host that is no more.
func way(f *heddle.Fabric, n heddle.Network, to netip.Prefix, host string) []heddle.Route {
	for _, p := range f.Peers {
		family, ok := heddle.Path(f.Self, p)
		if p.ID != host || !ok {
			continue
		}
		hop := p.TunnelMAC().LinkLocal()
		if family == heddle.IPv4 && heddle.IPv4.Has(to.Addr()) {
			hop = outerOf(p, family)
		}
		source, _ := f.Source(n.ID, heddle.FamilyOf(to.Addr()))
		return []heddle.Route{{Dst: to, Link: f.TunnelName(family), Via: hop, OnLink: true, Src: source, MTU: pathMTU(f, p, family)}}
	}
	return nil
}

// pathMTU is what a path carries besides the tunnel's headers, at least what IPv6
// needs: what is larger than the underlay's path is fragmented there.
func pathMTU(f *heddle.Fabric, p heddle.Host, family heddle.Family) int {
	return max(heddle.IPv6.LeastMTU(), pathRoom(f, p, family))
}

func pathRoom(f *heddle.Fabric, p heddle.Host, family heddle.Family) int {
	mtu := min(f.Self.MTU, p.MTU)
	if found, ok := f.PathMTU[p.ID]; ok {
		mtu = min(mtu, found)
	}
	return mtu - heddle.TunnelOverhead(family)
}
