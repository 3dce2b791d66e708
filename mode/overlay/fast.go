package overlay

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// The fast path between hosts: what the eBPF programs are told. They write VXLAN
// over IPv4; peers that are reached over IPv6 only are left to the tunnel device.

func anyFast(f *heddle.Fabric) bool {
	return slices.ContainsFunc(f.Networks, heddle.Network.Fast)
}

// wire plans the program on the underlay's interface, and the peers that it and the
// endpoints' programs know.
func wire(h heddle.HostFacts, s *heddle.State) {
	f := h.Fabric
	local, link, ok := underlay4(h)
	if !ok {
		return
	}
	s.Programs = append(s.Programs, heddle.Program{Link: link,
		Wire: &heddle.Wire{Local: local, VNI: f.VNI, Port: f.Port, MAC: f.Self.TunnelMAC()}})
	for _, p := range f.Peers {
		if carried(f, p) {
			s.Remotes = append(s.Remotes, heddle.Remote{Addr: outerOf(p, true), Local: local, Link: link, VNI: f.VNI, Port: f.Port,
				MAC: p.TunnelMAC(), OwnMAC: f.Self.TunnelMAC(), MTU: pathMTU(f, p, true)})
		}
	}
}

// carried reports whether the fast path reaches a peer: over IPv4, without fragments
// underneath, and by a NIC that completes checksums in tunnels, which the programs
// leave to it.
func carried(f *heddle.Fabric, p heddle.Host) bool {
	v4, ok := heddle.Path(f.Self, p)
	return ok && v4 && !f.SoftChecksums && pathRoom(f, p, v4) >= leastMTU
}

// underlay4 is the host's IPv4 underlay address and the interface that has it.
func underlay4(h heddle.HostFacts) (addr netip.Addr, link string, ok bool) {
	addr, _ = h.Fabric.Self.UnderlayFor(true)
	for _, l := range h.Links {
		if slices.ContainsFunc(l.Addrs, func(p netip.Prefix) bool { return p.Addr() == addr }) {
			return addr, l.Name, true
		}
	}
	return addr, "", false
}

// shortcut is where the fast path finds what a peer has. A host without an address of
// its own in the network tracks its traffic, so that what others translate comes back
// (see heddle.SpanningChains), and leaves it to the stack.
func shortcut(h heddle.HostFacts, n heddle.Network, to netip.Prefix, host string) []heddle.Shortcut {
	f := h.Fabric
	_, _, ok := underlay4(h)
	if _, own := f.Source(n.ID, to.Addr().Is4()); !own {
		return nil
	}
	i := slices.IndexFunc(f.Peers, func(p heddle.Host) bool { return p.ID == host })
	if !ok || i < 0 || !n.Fast() || !carried(f, f.Peers[i]) {
		return nil
	}
	return []heddle.Shortcut{{Prefix: to, Group: n.Group(), Peer: outerOf(f.Peers[i], true)}}
}
