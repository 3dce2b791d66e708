package agent

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// parentPool are the NICs of a network that were plugged in for several endpoints each, with their further addresses.
type parentPool struct {
	nics []*sharedNIC
	// above is since when more addresses are ready than should be; zero if there are not.
	above time.Time
}

// sharedNIC is one of them. gone says that the machine does not have it any more, full that it can have no further addresses besides. changed is how many changes of addresses there were with the last
// one of its own; that is math.MaxInt while one is under way.
type sharedNIC struct {
	heddle.ParentNIC
	sets    []givenSet
	gone    bool
	full    bool
	changed int
}

// givenSet is a set of further addresses. by is the endpoint that has it; otherwise it may be given from some time on. block is the prefix with which it came and goes;
// the zero value if it came alone.
type givenSet struct {
	addrs []netip.Prefix
	block netip.Prefix
	by    heddle.EndpointID
	from  time.Time
}

func (s givenSet) isFree() bool { return s.by == heddle.EndpointID{} }

func (s givenSet) isReady(now time.Time) bool { return s.isFree() && !s.from.After(now) }

// take gives the set to an endpoint that has been ready for longest, of the prefix and NIC on which most are in use: so others become empty.
func (p *parentPool) take(id heddle.EndpointID, now time.Time) (on *sharedNIC, addrs []netip.Prefix, ok bool) {
	for _, n := range p.nics {
		if i := slices.IndexFunc(n.sets, func(s givenSet) bool { return s.by == id }); i >= 0 { // an attach that is tried again
			return n, n.sets[i].addrs, true
		}
	}
	found := -1
	for _, n := range p.nics {
		i := n.readyAt(now)
		if i >= 0 && (on == nil || n.used() > on.used()) {
			on, found = n, i
		}
	}
	if on == nil {
		return nil, nil, false
	}
	on.sets[found].by = id
	return on, on.sets[found].addrs, true
}

// readyAt is the index of the set that has been ready for longest, of the prefix on which most are in use; -1 if none is ready.
func (n *sharedNIC) readyAt(now time.Time) int {
	if n.gone {
		return -1
	}
	used := n.usedOfBlocks()
	found := -1
	for i, s := range n.sets {
		if s.isReady(now) && (found < 0 || cmp.Or(cmp.Compare(used[n.sets[found].block], used[s.block]), s.from.Compare(n.sets[found].from)) < 0) {
			found = i
		}
	}
	return found
}

func (n *sharedNIC) used() (count int) {
	for _, s := range n.sets {
		if !s.isFree() {
			count++
		}
	}
	return count
}

// give ends what an endpoint has. The addresses cool down.
func (p *parentPool) give(id heddle.EndpointID, now time.Time) {
	for _, n := range p.nics {
		for i := range n.sets {
			if n.sets[i].by == id {
				n.sets[i].by, n.sets[i].from = heddle.EndpointID{}, now.Add(coolDown)
			}
		}
	}
}

// find returns the NIC of a token; nil if the pool does not have it.
func (p *parentPool) find(token string) *sharedNIC {
	for _, n := range p.nics {
		if n.Token == token {
			return n
		}
	}
	return nil
}

// note records, at start, what an endpoint has.
func (p *parentPool) note(e heddle.Endpoint) {
	n := p.find(e.Parent.Token)
	if n == nil {
		n = &sharedNIC{ParentNIC: *e.Parent}
		p.nics = append(p.nics, n)
	}
	n.sets = append(n.sets, givenSet{addrs: e.Addrs, by: e.ID})
}

// learn notes which further addresses a NIC has, as its provider says. Those that are new to the pool can be given from that time on. One that
// an endpoint has is never forgotten.
func (n *sharedNIC) learn(c nic.Card, from time.Time) {
	for _, addrs := range c.Further {
		if len(addrs) > 0 && !slices.ContainsFunc(n.sets, func(s givenSet) bool { return overlap(s.addrs, addrs) }) {
			n.sets = append(n.sets, givenSet{addrs: addrs, from: from})
		}
	}
	n.sets = slices.DeleteFunc(n.sets, func(s givenSet) bool { return s.isFree() && !hasSet(c, s.addrs) })
	for i := range n.sets {
		n.sets[i].block = cmp.Or(blockOf(c.Prefixes, n.sets[i].addrs), n.sets[i].block) // the list may be behind
	}
	n.full = c.Full
}

// hasSet reports whether the NIC has all of the addresses as further ones.
func hasSet(c nic.Card, addrs []netip.Prefix) bool {
	return slices.ContainsFunc(c.Further, func(set []netip.Prefix) bool {
		return !slices.ContainsFunc(addrs, func(a netip.Prefix) bool { return !overlap(set, []netip.Prefix{a}) })
	})
}

func overlap(some, others []netip.Prefix) bool {
	return slices.ContainsFunc(some, func(a netip.Prefix) bool {
		return slices.ContainsFunc(others, func(b netip.Prefix) bool { return a.Addr() == b.Addr() })
	})
}

// counts are how many sets are in use, how many can be given now, and how many cool.
func (p *parentPool) counts(now time.Time) (used, ready, cooling int) {
	for _, n := range p.nics {
		for _, s := range n.sets {
			switch {
			case !s.isFree():
				used++
			case n.gone:
			case s.isReady(now):
				ready++
			default:
				cooling++
			}
		}
	}
	return used, ready, cooling
}

// withRoom is the NIC with most sets that may have another one; nil if none may.
func (p *parentPool) withRoom(most int) (found *sharedNIC) {
	for _, n := range p.nics {
		if !n.gone && !n.full && len(n.sets) < most && (found == nil || len(n.sets) > len(found.sets)) {
			found = n
		}
	}
	return found
}

// takeEmpty takes a NIC out of the pool of which no address is in use or cools, unless its ready ones are wanted. One that is gone goes when
// nobody uses it.
func (p *parentPool) takeEmpty(warm int, now time.Time) (heddle.ParentNIC, bool) {
	_, all, _ := p.counts(now)
	for i, n := range p.nics {
		used, ready, cooling := (&parentPool{nics: []*sharedNIC{n}}).counts(now)
		if used == 0 && cooling == 0 && (n.gone || all-ready >= warm) {
			p.nics = slices.Delete(p.nics, i, i+1)
			return n.ParentNIC, true
		}
	}
	return heddle.ParentNIC{}, false
}

// takeBare takes a NIC out of the pool that has got no address.
func (p *parentPool) takeBare(token string) bool {
	i := slices.IndexFunc(p.nics, func(n *sharedNIC) bool { return n.Token == token && len(n.sets) == 0 })
	if i >= 0 {
		p.nics = slices.Delete(p.nics, i, i+1)
	}
	return i >= 0
}
