package overlay

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// Reach plans the tunnel devices, of each peer a neighbour and a forwarding entry,
// and the chains in front: a peer may send from its own blocks, others nothing.
func (Mode) Reach(h heddle.HostFacts) heddle.Plan {
	f := h.Fabric
	s := heddle.State{Firewall: heddle.TunnelChains(f), Elements: heddle.TunnelWays(f)}
	for _, v4 := range []bool{true, false} {
		if _, used := f.Self.UnderlayFor(v4); used {
			device(h, v4, &s)
		}
	}
	for _, p := range f.Peers {
		if v4, ok := heddle.Path(f.Self, p); ok {
			peer(f, p, v4, &s)
		}
	}
	if anyFast(f) {
		wire(h, &s)
	}
	return heddle.Plan{Host: s}
}

func device(h heddle.HostFacts, v4 bool, s *heddle.State) {
	f := h.Fabric
	name := f.TunnelName(v4)
	local, _ := f.Self.UnderlayFor(v4)
	s.Links = append(s.Links, heddle.Link{Name: name, Kind: "vxlan", MTU: f.Self.MTU - heddle.TunnelOverhead(v4), MAC: f.Self.TunnelMAC(),
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
func peer(f *heddle.Fabric, p heddle.Host, v4 bool, s *heddle.State) {
	name, outer := f.TunnelName(v4), outerOf(p, v4)
	s.Forwards = append(s.Forwards, heddle.Forward{Link: name, MAC: p.TunnelMAC(), Dst: outer})
	if v4 {
		s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: name, Addr: outer, MAC: p.TunnelMAC()})
	}
	s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: name, Addr: p.TunnelMAC().LinkLocal(), MAC: p.TunnelMAC()})
	s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "peers" + digit(v4), Match: []string{outer.String()}})
	if p.PrivilegedPorts {
		s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "privileged" + digit(v4), Match: []string{outer.String()}})
	}
	for _, a := range p.Underlay {
		s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "hosts" + digit(a.Is4()), Match: []string{a.String()}})
	}
	admit := func(set string, from netip.Prefix, text string) {
		set += digit(v4) + digit(from.Addr().Is4())
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

func outerOf(p heddle.Host, v4 bool) netip.Addr {
	a, _ := p.UnderlayFor(v4)
	return a
}

func digit(v4 bool) string {
	if v4 {
		return "4"
	}
	return "6"
}

// ways adds a network's routes to the blocks and addresses of other hosts, and the
// host's own address as their source.
func ways(h heddle.HostFacts, n heddle.Network, s *heddle.State) {
	f := h.Fabric
	device := ""
	for _, v4 := range []bool{false, true} {
		if _, used := f.Self.UnderlayFor(v4); used {
			device = f.TunnelName(v4)
		}
	}
	if device == "" {
		return
	}
	s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "spans", Match: []string{fmt.Sprintf("%#x", n.Group())}})
	for _, v4 := range []bool{true, false} {
		if source, ok := f.Source(n.ID, v4); ok {
			s.Addresses = append(s.Addresses, heddle.Address{Link: device, Prefix: heddle.Single(source)})
			s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "gate" + digit(v4), Match: []string{source.String()}, Value: []string{"jump " + n.ChainName("gate")}})
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
		v4, ok := heddle.Path(f.Self, p)
		if p.ID != host || !ok {
			continue
		}
		hop := p.TunnelMAC().LinkLocal()
		if v4 && to.Addr().Is4() {
			hop = outerOf(p, v4)
		}
		source, _ := f.Source(n.ID, to.Addr().Is4())
		return []heddle.Route{{Dst: to, Link: f.TunnelName(v4), Via: hop, OnLink: true, Src: source, MTU: pathMTU(f, p, v4)}}
	}
	return nil
}

// leastMTU is what IPv6 needs (RFC 8200, section 5).
const leastMTU = 1280

// pathMTU is what a path carries besides the tunnel's headers, at least what IPv6
// needs: what is larger than the underlay's path is fragmented there.
func pathMTU(f *heddle.Fabric, p heddle.Host, v4 bool) int {
	return max(leastMTU, pathRoom(f, p, v4))
}

func pathRoom(f *heddle.Fabric, p heddle.Host, v4 bool) int {
	mtu := min(f.Self.MTU, p.MTU)
	if found, ok := f.PathMTU[p.ID]; ok {
		mtu = min(mtu, found)
	}
	return mtu - heddle.TunnelOverhead(v4)
}
