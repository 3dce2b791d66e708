package cluster

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// peers are the other hosts. A record cannot claim more than its writer may have: if two
// hosts have the same underlay address, the later one is no peer, and neither is a host
// with an address of this one. Later means created later. An agent that starts writes its
// record anew, and must not gain an advantage by that. Nor may an older host gain one by
// adding an address of another host: a host that was a peer before and has the same
// addresses stays one.
func (r *record) peers(self heddle.Host, before []heddle.Host) (all, left []heddle.Host) {
	var found []item
	for _, i := range r.items {
		if x, is := i.value.(*hostRecord); is && x.ID != self.ID && !r.removed(x.ID) {
			found = append(found, i)
		}
	}
	was := map[string]heddle.Host{}
	for _, b := range before {
		was[b.Name] = b
	}
	came := func(i item) int {
		h := i.value.(*hostRecord)
		if b, there := was[h.Name]; there && b.ID == h.ID && slices.Equal(b.Underlay, h.Underlay) {
			return 0
		}
		return 1
	}
	slices.SortFunc(found, func(a, b item) int { return cmp.Or(cmp.Compare(came(a), came(b)), byCreation(a, b)) })
	seen := map[netip.Addr]bool{}
	for _, a := range self.Underlay {
		seen[a] = true
	}
	for _, i := range found {
		h := i.value.(*hostRecord).Host
		taken := false
		for _, a := range h.Underlay {
			taken = taken || seen[a]
		}
		if taken {
			left = append(left, h)
			continue
		}
		for _, a := range h.Underlay {
			seen[a] = true
		}
		all = append(all, h)
	}
	return all, left
}

// hostWithAddress returns another host with one of the host's underlay addresses.
func (r *record) hostWithAddress(self heddle.Host) (other heddle.Host, at netip.Addr, found bool) {
	for _, i := range r.items {
		h, is := i.value.(*hostRecord)
		if !is || h.ID == self.ID || r.removed(h.ID) {
			continue
		}
		for _, a := range h.Underlay {
			if slices.Contains(self.Underlay, a) {
				return h.Host, a, true
			}
		}
	}
	return other, at, false
}

// byCreation orders by who came first.
func byCreation(a, b item) int {
	return cmp.Or(cmp.Compare(a.created, b.created), byRevision(a, b), strings.Compare(a.key, b.key))
}
