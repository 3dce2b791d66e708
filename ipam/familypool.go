package ipam

import (
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
)

// A very large pool does not run out of fresh addresses in the lifetime of an agent. So it
// remembers only this many freed addresses.
const (
	hugeSize      = 1 << 32
	maxRemembered = 1 << 16
)

// familyPool has the addresses of one family of a network. Every address of its ranges is
// in one of four states; barred is permanent:
//
//	barred    gateway, network, broadcast, reserved
//	fresh     neither held nor freed: the ring comes by it
//	held      leased
//	freed     in the queue
//
//	fresh ──claim──► held ──release──► freed
//	                  ▲──────claim───────┘
//
// An address that is neither held nor freed is fresh by definition, and the ring visits all
// addresses, so none can be lost. An address that is given out on request only (reserved,
// or outside the ranges) is either held or has no state.
type familyPool struct {
	subnet   netip.Prefix
	gateway  netip.Addr
	reserved map[netip.Addr]bool
	ranges   []netip.Prefix
	// setAside are addresses that are not given out, not even on request, with their holders.
	setAside map[netip.Addr]string
	ring     ring
	held     holderTable
	freed    queue
	// size counts the addresses that are given out without a request for them.
	size uint64
	// heldOnRequest counts the held addresses that are given out on request only.
	heldOnRequest uint64
	// steps counts the addresses that were examined: the work of an allocation.
	steps uint64
}

func newFamilyPool(n heddle.Network, subnet netip.Prefix) *familyPool {
	l := &familyPool{
		subnet:   subnet,
		reserved: map[netip.Addr]bool{},
		setAside: map[netip.Addr]string{},
		held:     newHolderTable(),
		freed:    newQueue(),
	}
	l.gateway, _ = n.GatewayFor(subnet.Addr())
	for _, a := range n.Reserved {
		if subnet.Contains(a) {
			l.reserved[a] = true
		}
	}
	var ranges []netip.Prefix
	for _, r := range n.Ranges {
		if subnet.Contains(r.Addr()) {
			ranges = append(ranges, r)
		}
	}
	if len(ranges) == 0 {
		ranges = []netip.Prefix{subnet}
	}
	l.ranges, l.ring = ranges, newRing(ranges)
	l.size = l.count()
	return l
}

// family is the family of its addresses.
func (l *familyPool) family() heddle.Family { return heddle.FamilyOf(l.subnet.Addr()) }

// ownUse names the network's own use of an address, "" if there is none.
func (l *familyPool) ownUse(a netip.Addr) string {
	if a == l.gateway {
		return "gateway"
	}
	return edgeOf(l.subnet, a)
}

func (l *familyPool) unavailable(a netip.Addr) bool {
	return l.reserved[a] || l.setAside[a] != "" || l.ownUse(a) != ""
}

// automatic reports whether an address may be given out without a request for it.
func (l *familyPool) automatic(a netip.Addr) bool { return l.ring.find(a) >= 0 && !l.unavailable(a) }

func (l *familyPool) isHeld(a netip.Addr) bool { return l.held.holder(a) != nil }

// advance moves the ring to the next fresh address. Each round visits every address once, so an
// allocation costs one step on average.
func (l *familyPool) advance() {
	for !l.ring.done {
		l.steps++
		if a := l.ring.at; !l.unavailable(a) && !l.isHeld(a) && !l.freed.has(a) {
			return
		}
		l.ring.step()
	}
}

// next returns the next address to give out, and leaves it free: a fresh one, otherwise the one
// that was freed first. Addresses in quarantine are at the end of the queue, so they are reused
// only when nothing else is free.
func (l *familyPool) next() (netip.Addr, bool) {
	l.advance()
	if !l.ring.done {
		return l.ring.at, true
	}
	l.steps++
	return l.freed.oldest()
}

// claim makes a free address held.
func (l *familyPool) claim(a netip.Addr, by *lease) {
	l.freed.remove(a)
	l.held.set(a, by)
	if !l.automatic(a) {
		l.heldOnRequest++
	}
	if !l.ring.done && l.ring.at == a {
		l.ring.step()
	}
}

// release makes a held address freed.
func (l *familyPool) release(a netip.Addr, now time.Time) {
	l.held.clear(a)
	if l.automatic(a) {
		l.freed.add(a, now)
		l.trimFreed()
	} else {
		l.heldOnRequest--
	}
}

// trimFreed keeps the queue of a huge pool short: before the ring has visited all addresses,
// the queue only grows. An address removed from it is fresh again, and the last one of the
// ring's round.
func (l *familyPool) trimFreed() {
	if l.size < hugeSize || l.ring.done || len(l.freed.where) <= maxRemembered {
		return
	}
	a, _ := l.freed.oldest()
	l.freed.remove(a)
	l.ring.start = l.ring.at
}
