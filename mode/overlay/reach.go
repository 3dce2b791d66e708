package overlay

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/path"
)

// Reach plans what the cluster's path needs on this host, and the way to each peer.
func (Mode) Reach(h heddle.HostFacts) heddle.Plan {
	f := h.Fabric
	by := path.Of(f)
	s := by.Host(h)
	for _, p := range f.Peers {
		if over, ok := heddle.Path(f.Self, p); ok {
			s = heddle.Append(s, by.Peer(f, p, over))
		}
	}
	if usesFastPath(f) {
		s = heddle.Append(s, by.Fast(h))
	}
	return heddle.Plan{Host: s}
}

// addPeerRoutes adds a network's routes to the blocks and addresses of other hosts, with the host's
// own address as their source.
func addPeerRoutes(h heddle.HostFacts, n heddle.Network, s *heddle.State) {
	f := h.Fabric
	device := ""
	for _, family := range heddle.Families() {
		if _, used := f.Self.UnderlayFor(family); used && device == "" {
			device = path.Of(f).Device(f, family)
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
			s.Routes = append(s.Routes, peerRoute(f, n, b.Prefix, b.Host)...)
			s.Shortcuts = append(s.Shortcuts, shortcut(h, n, b.Prefix, b.Host)...)
		}
	}
	for _, p := range f.Pins {
		if p.Network == n.ID {
			s.Routes = append(s.Routes, peerRoute(f, n, heddle.Single(p.Addr), p.Host)...)
			s.Shortcuts = append(s.Shortcuts, shortcut(h, n, heddle.Single(p.Addr), p.Host)...)
		}
	}
	for _, g := range n.Gateways {
		if n.Fast() {
			// every host has these routes, whichever host has the block that contains them
			s.Shortcuts = append(s.Shortcuts, heddle.Shortcut{Prefix: heddle.Single(g), Group: n.Group()})
		}
	}
}

// peerRoute is the route to a prefix of a peer. There is none to a prefix of this host, or of a
// host that has left the cluster.
func peerRoute(f *heddle.Fabric, n heddle.Network, to netip.Prefix, host string) []heddle.Route {
	by := path.Of(f)
	for _, p := range f.Peers {
		over, ok := heddle.Path(f.Self, p)
		if p.ID != host || !ok {
			continue
		}
		family := heddle.FamilyOf(to.Addr())
		source, _ := f.Source(n.ID, family)
		return []heddle.Route{{Dst: to, Link: by.Device(f, over), Via: by.Hop(p, over, family), OnLink: true, Src: source, MTU: path.MTU(f, p, over, family)}}
	}
	return nil
}
