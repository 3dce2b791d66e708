package overlay

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/path"
)

// The fast path between hosts: the entries for the eBPF programs.

func usesFastPath(f *heddle.Fabric) bool {
	return slices.ContainsFunc(f.Networks, heddle.Network.Fast)
}

// shortcut tells the fast path where a peer's block or address is. A host without an address
// of its own in the network needs connection tracking (see firewall.SpanningChains), so its
// packets take the stack. For a single address of a peer that the fast path does not reach,
// an entry leads to the stack: the block may belong to another peer that it does reach.
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

// withoutFastPath adds entries by which packets to an endpoint without the fast path take the
// stack. They are needed because its address may lie in a peer's block.
func withoutFastPath(n heddle.Network, e heddle.Endpoint) (s heddle.State) {
	if !n.Fast() || !e.TakesStack() {
		return s
	}
	for _, a := range e.Addrs {
		s.Shortcuts = append(s.Shortcuts, heddle.Shortcut{Prefix: heddle.Single(a.Addr()), Group: n.Group()})
	}
	return s
}
