package overlay

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// The fast path between hosts: what the eBPF programs are told.

func anyFast(f *heddle.Fabric) bool {
	return slices.ContainsFunc(f.Networks, heddle.Network.Fast)
}

// wire plans the programs on the underlay's interfaces, and the peers that they and
// the endpoints' programs know.
func wire(h heddle.HostFacts, s *heddle.State) {
	f := h.Fabric
	all := heddle.Wire{VNI: f.VNI, Port: f.Port, MAC: f.Self.TunnelMAC()}
	var links []string
	for _, family := range heddle.Families() {
		local, link, ok := underlay(h, family)
		if !ok {
			continue
		}
		if family == heddle.IPv4 {
			all.Local = local
		} else {
			all.Local6 = local
		}
		if !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	for _, link := range links {
		s.Programs = append(s.Programs, heddle.Program{Link: link, Wire: &all})
	}
	for _, p := range f.Peers {
		if family, ok := carried(h, p); ok {
			local, link, _ := underlay(h, family)
			s.Remotes = append(s.Remotes, heddle.Remote{Addr: outerOf(p, family), Local: local, Link: link, VNI: f.VNI, Port: f.Port,
				MAC: p.TunnelMAC(), OwnMAC: f.Self.TunnelMAC(), MTU: pathMTU(f, p, family)})
		}
	}
}

// carried reports whether the fast path reaches a peer, and by which family: without
// fragments underneath, by a NIC that completes checksums in tunnels, which the
// programs leave to it, and without IPsec, which they would pass by.
func carried(h heddle.HostFacts, p heddle.Host) (family heddle.Family, ok bool) {
	f := h.Fabric
	family, ok = heddle.Path(f.Self, p)
	_, _, here := underlay(h, family)
	return family, ok && here && !f.SoftChecksums && !h.Secures(p) && pathRoom(f, p, family) >= heddle.IPv6.LeastMTU()
}

// underlay is the host's underlay address of a family, and the interface that has it.
func underlay(h heddle.HostFacts, family heddle.Family) (addr netip.Addr, link string, ok bool) {
	addr, used := h.Fabric.Self.UnderlayFor(family)
	for _, l := range h.Links {
		if used && slices.ContainsFunc(l.Addrs, func(p netip.Prefix) bool { return p.Addr() == addr }) {
			return addr, l.Name, true
		}
	}
	return addr, "", false
}

// shortcut is where the fast path finds what a peer has. A host without an address of
// its own in the network tracks its traffic, so that what others translate comes back
// (see firewall.SpanningChains), and leaves it to the stack. A single address of a peer
// that it does not reach is left to the stack by name: another peer that it does reach
// may have the block.
func shortcut(h heddle.HostFacts, n heddle.Network, to netip.Prefix, host string) []heddle.Shortcut {
	f := h.Fabric
	if _, own := f.Source(n.ID, heddle.FamilyOf(to.Addr())); !own || !n.Fast() {
		return nil
	}
	for _, p := range f.Peers {
		if p.ID != host {
			continue
		}
		if family, ok := carried(h, p); ok {
			return []heddle.Shortcut{{Prefix: to, Group: n.Group(), Peer: outerOf(p, family)}}
		}
		if to.IsSingleIP() {
			return []heddle.Shortcut{{Prefix: to, Group: n.Group()}}
		}
	}
	return nil
}

// apart has an endpoint without the fast path left to the stack by name: its address
// may lie in a block that is found at a peer.
func apart(n heddle.Network, e heddle.Endpoint) (s heddle.State) {
	if !n.Fast() || !e.NoFastPath {
		return s
	}
	for _, a := range e.Addrs {
		s.Shortcuts = append(s.Shortcuts, heddle.Shortcut{Prefix: heddle.Single(a.Addr()), Group: n.Group()})
	}
	return s
}
