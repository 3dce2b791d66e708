package heddle

import "net/netip"

// Secured is traffic that an IPsec policy of the host protects or discards (RFC 4301,
// section 4.4.1), by the addresses of both ends. The fast path leaves UDP between them
// to the kernel's stack.
type Secured struct {
	Local  netip.Prefix `json:"local"`
	Remote netip.Prefix `json:"remote"`
}

// Secures reports whether an IPsec policy applies to traffic between the host's
// underlay address and a peer's.
func (h HostFacts) Secures(peer Host) bool {
	f, ok := Path(h.Fabric.Self, peer)
	if !ok {
		return false
	}
	local, _ := h.Fabric.Self.UnderlayFor(f)
	remote, _ := peer.UnderlayFor(f)
	for _, s := range h.Secured {
		if s.Local.Contains(local) && s.Remote.Contains(remote) {
			return true
		}
	}
	return false
}
