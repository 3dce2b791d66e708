package kernel

import (
	"fmt"
	"slices"
)

// If no far end leads to a NIC, a device is brought home only if it is proven to be the NIC. As
// long as there is a device that could be the NIC, the NIC does not count as gone.

// marked reports whether the device has the NIC's mark or MAC address. A container can give these
// to any device.
func (h *nicReturn) marked(l linkState) bool { return l.alias == h.n.Alias || l.mac == h.n.MAC }

// unfollowed finds a NIC that no far end on the host leads to. It looks for the attributes that the
// container can change, and checks that the far end of the device is where it should be. Any other
// device that may be an end of the NIC's pair makes it doubtful that the NIC is gone.
func (h *nicReturn) unfollowed(away []GivenNIC) (f *found, doubt string, err error) {
	is := func(at *session, l linkState) bool {
		switch {
		case l.kind != h.n.Was.Kind:
			return false
		case !at.pod:
			return l.alias == h.n.Alias
		case h.marked(l) && h.leadsAway(at, l, away):
			return true
		case h.mayBeEnd(at, l, away):
			doubt = fmt.Sprintf("nothing on the host leads to it, and %q in %s may be it, or its far end: bring that back to the host, or delete it", l.name, at.ns.path)
		}
		return false
	}
	for _, deep := range []bool{false, true} {
		others, err := h.others(deep)
		if err != nil {
			return nil, "", h.lost(err.Error())
		}
		if f, err := look(append([]*session{h.host, h.pod}, others...), is); f != nil || err != nil {
			return f, "", err
		}
	}
	return nil, doubt, nil // without a doubt, the NIC was deleted with its far end
}

// leadsAway reports whether the other end of a device is in one of the containers that may have the
// NIC's far end, or on the host, on its way from such a container.
func (h *nicReturn) leadsAway(at *session, l linkState, away []GivenNIC) bool {
	if h.onHost(at, l) {
		far, err := h.host.linkAt(l.peer)
		return err == nil && far != nil && has(away, far.alias)
	}
	return slices.ContainsFunc(append([]*session{h.pod}, h.sites...), func(s *session) bool {
		if s == nil || !heldBy(away, s.ns) {
			return false
		}
		number, err := at.readNumber(s.ns)
		return err == nil && (l.elsewhere && l.nsid == number || !l.elsewhere && s.ns.Same(at.ns))
	})
}

// mayBeEnd reports whether a device may be an end of the NIC's pair. The signs are the mark, the
// MAC address of either end, and the namespace: that of the container, or of a container that may
// have the far end. A device whose other end is on the host is no end of the pair, unless that
// other end is the far end, which has just come home or just left. Another NIC is no end of the
// pair, either.
func (h *nicReturn) mayBeEnd(at *session, l linkState, away []GivenNIC) bool {
	switch {
	case h.onHost(at, l):
		far, err := h.host.linkAt(l.peer)
		return err != nil || far == nil || far.mac == h.n.Was.FarMAC || has(away, far.alias)
	case h.isOther(at, l, away):
		return false
	}
	return h.marked(l) || heldBy(away, at.ns) || at == h.pod && l.elsewhere || h.n.Was.FarMAC != "" && l.mac == h.n.Was.FarMAC
}

// isOther reports whether a device is another NIC that the same container was given. Then it has
// the mark and MAC address of the other NIC, and its other end is in a container that has the far
// end of the other NIC. So an end of this pair cannot be mistaken for the other NIC, unless the two
// containers have both pairs. Then they have a wire between them in any case.
func (h *nicReturn) isOther(at *session, l linkState, away []GivenNIC) bool {
	return slices.ContainsFunc(h.k.givenAway(), func(n GivenNIC) bool {
		return n.holds(at.ns) && n.Alias != h.n.Alias && !has(away, n.Alias) &&
			n.Was.Kind == l.kind && n.Alias == l.alias && n.MAC == l.mac && h.leadsAway(at, l, h.k.farEnds(n.NIC))
	})
}

// onHost reports whether the other end of a container's device is on the host.
func (h *nicReturn) onHost(at *session, l linkState) bool {
	number, err := at.readNumber(h.host.ns)
	return err == nil && l.elsewhere && l.nsid == number
}

// has reports whether one of the NICs has the mark.
func has(all []GivenNIC, alias string) bool {
	return alias != "" && slices.ContainsFunc(all, func(n GivenNIC) bool { return n.Alias == alias })
}

func heldBy(all []GivenNIC, ns *Netns) bool {
	return slices.ContainsFunc(all, func(n GivenNIC) bool { return n.holds(ns) })
}
