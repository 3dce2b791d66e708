package overlay

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/path"
)

// The fast path between hosts: what the eBPF programs are told.

func usesFastPath(f *heddle.Fabric) bool {
	return slices.ContainsFunc(f.Networks, heddle.Network.Fast)
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
		if over, ok := heddle.Path(f.Self, p); ok && path.Of(f).Carries(h, p, over) {
			outer, _ := p.UnderlayFor(over)
			return []heddle.Shortcut{{Prefix: to, Group: n.Group(), Peer: outer}}
		}
		if to.IsSingleIP() {
			return []heddle.Shortcut{{Prefix: to, Group: n.Group()}}
		}
	}
	return nil
}

// withoutFastPath adds entries that leave an endpoint without the fast path to the stack: its
// address may lie in a peer's block.
func withoutFastPath(n heddle.Network, e heddle.Endpoint) (s heddle.State) {
	if !n.Fast() || !e.NoFastPath {
		return s
	}
	for _, a := range e.Addrs {
		s.Shortcuts = append(s.Shortcuts, heddle.Shortcut{Prefix: heddle.Single(a.Addr()), Group: n.Group()})
	}
	return s
}
