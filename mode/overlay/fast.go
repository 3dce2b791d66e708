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
	local, ok := f.Self.UnderlayFor(true)
	link, found := linkOf(h, local)
	if !ok || !found {
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

// carried reports whether the fast path reaches a peer: over IPv4, and without
// fragments underneath.
func carried(f *heddle.Fabric, p heddle.Host) bool {
	v4, ok := heddle.Path(f.Self, p)
	return ok && v4 && pathRoom(f, p, v4) >= leastMTU
}

// linkOf is the interface that has an address.
func linkOf(h heddle.HostFacts, addr netip.Addr) (string, bool) {
	for _, l := range h.Links {
		if slices.ContainsFunc(l.Addrs, func(p netip.Prefix) bool { return p.Addr() == addr }) {
			return l.Name, true
		}
	}
	return "", false
}

// shortcut is where the fast path finds what a peer has.
func shortcut(f *heddle.Fabric, n heddle.Network, to netip.Prefix, host string) []heddle.Shortcut {
	i := slices.IndexFunc(f.Peers, func(p heddle.Host) bool { return p.ID == host })
	if i < 0 || !n.Fast() || !carried(f, f.Peers[i]) {
		return nil
	}
	return []heddle.Shortcut{{Prefix: to, Group: n.Group(), Peer: outerOf(f.Peers[i], true)}}
}
