package kernel

import (
	"fmt"
	"slices"
)

// Where no far end leads to a NIC, what is not proven to be it is not brought home; and
// as long as there is something that could be, the NIC is not gone.

// marked reports whether the device has the NIC's mark or MAC address, which a container
// can give to any.
func (h *homecoming) marked(l linkState) bool { return l.alias == h.n.Alias || l.mac == h.n.MAC }

// unfollowed finds a NIC that no far end on the host leads to: by what its container can
// write, and the far end of that being where it should. Anything else that may be an end
// of its pair keeps the NIC from being gone.
func (h *homecoming) unfollowed(away []GivenNIC) (*found, error) {
	doubt := ""
	is := func(at *site, l linkState) bool {
		switch marked := h.marked(l); {
		case l.kind != h.n.Was.Kind:
			return false
		case !at.pod:
			return l.alias == h.n.Alias
		case marked && h.leadsAway(at, l, away):
			return true
		case marked || h.mayBeEnd(at, l, away):
			doubt = fmt.Sprintf("nothing on the host leads to it, and %q in %s may be it, or its far end: bring that back to the host, or delete it", l.name, at.ns.path)
		}
		return false
	}
	for _, deep := range []bool{false, true} {
		others, err := h.others(deep)
		if err != nil {
			return nil, h.lost(err.Error())
		}
		if f, err := look(append([]*site{h.host, h.pod}, others...), is); f != nil || err != nil {
			return f, err
		}
	}
	if doubt != "" {
		return nil, h.lost(doubt)
	}
	return nil, nil // with the far end the NIC went
}

// leadsAway reports whether the other end of a device is with one of the containers that
// may have the NIC's far end, or on the host, on its way from there.
func (h *homecoming) leadsAway(at *site, l linkState, away []GivenNIC) bool {
	if h.onHost(at, l) {
		far, err := h.host.linkAt(l.peer)
		return err == nil && far != nil && slices.ContainsFunc(away, func(n GivenNIC) bool { return n.Alias != "" && far.alias == n.Alias })
	}
	return slices.ContainsFunc(append([]*site{h.pod}, h.sites...), func(s *site) bool {
		if s == nil || !heldBy(away, s.ns) {
			return false
		}
		number, err := at.readNumber(s.ns)
		return err == nil && (l.elsewhere && l.nsid == number || !l.elsewhere && s.ns.Same(at.ns))
	})
}

// mayBeEnd reports whether a device may be an end of the NIC's pair by where it is: with
// the container, or with one that may have the far end, or of the far end's MAC address.
// One whose other end is on the host is not.
func (h *homecoming) mayBeEnd(at *site, l linkState, away []GivenNIC) bool {
	with := heldBy(away, at.ns)
	switch {
	case h.onHost(at, l):
		return false
	case with, h.n.Was.FarMAC != "" && l.mac == h.n.Was.FarMAC:
		return true
	}
	return at == h.pod && l.elsewhere
}

// onHost reports whether the other end of a container's device is on the host.
func (h *homecoming) onHost(at *site, l linkState) bool {
	number, err := at.readNumber(h.host.ns)
	return err == nil && l.elsewhere && l.nsid == number
}

func heldBy(all []GivenNIC, ns *Netns) bool {
	return slices.ContainsFunc(all, func(n GivenNIC) bool { return n.holds(ns) })
}
