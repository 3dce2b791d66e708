package ipam

import (
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
)

// A very large lane does not run out of fresh addresses in an agent's lifetime. So it
// remembers only this many of the freed ones.
const (
	vast       = 1 << 32
	remembered = 1 << 16
)

// lane is one family of a network. Every address of its ranges is in one of
// four states, and barred ones stay so:
//
//	barred    gateway, network, broadcast, reserved
//	fresh     neither held nor freed: the ring comes by it
//	held      leased
//	freed     in the queue
//
//	fresh ──claim──► held ──release──► freed
//	                  ▲──────claim───────┘
//
// What is neither held nor freed is fresh by definition, and the ring goes
// all the way round, so no address can be lost. An address that is given out
// on request only (reserved, or outside the ranges) is held or nothing.
type lane struct {
	subnet   netip.Prefix
	gateway  netip.Addr
	reserved map[netip.Addr]bool
	ranges   []netip.Prefix
	// aside are addresses that are not given out, not even on request, and who
	// has them.
	aside map[netip.Addr]string
	ring  ring
	held  book
	freed queue
	// size counts the addresses that are given out unasked.
	size uint64
	// unpooled counts those held that are given out on request only.
	unpooled uint64
	// steps counts the addresses looked at: the work of an allocation.
	steps uint64
}

func newLane(n heddle.Network, subnet netip.Prefix) *lane {
	l := &lane{
		subnet:   subnet,
		reserved: map[netip.Addr]bool{},
		aside:    map[netip.Addr]string{},
		held:     newBook(),
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

// family is that of its addresses.
func (l *lane) family() heddle.Family { return heddle.FamilyOf(l.subnet.Addr()) }

// part names what the network itself uses an address for, "" if nothing.
func (l *lane) part(a netip.Addr) string {
	if a == l.gateway {
		return "gateway"
	}
	return edgeOf(l.subnet, a)
}

func (l *lane) barred(a netip.Addr) bool { return l.reserved[a] || l.aside[a] != "" || l.part(a) != "" }

// pooled tells whether an address is given out unasked.
func (l *lane) pooled(a netip.Addr) bool { return l.ring.find(a) >= 0 && !l.barred(a) }

func (l *lane) isHeld(a netip.Addr) bool { return l.held.holder(a) != nil }

// settle moves the ring on to the next fresh address. Each round visits every address
// once, so an allocation costs one step on average.
func (l *lane) settle() {
	for !l.ring.done {
		l.steps++
		if a := l.ring.at; !l.barred(a) && !l.isHeld(a) && !l.freed.has(a) {
			return
		}
		l.ring.step()
	}
}

// next returns the address whose turn it is, and leaves it free: a fresh one,
// else the one freed first. Those in quarantine are the last of the queue, so
// that they are reused only when nothing else is free.
func (l *lane) next() (netip.Addr, bool) {
	l.settle()
	if !l.ring.done {
		return l.ring.at, true
	}
	l.steps++
	return l.freed.oldest()
}

// claim makes an address held that is not.
func (l *lane) claim(a netip.Addr, by *lease) {
	l.freed.remove(a)
	l.held.enter(a, by)
	if !l.pooled(a) {
		l.unpooled++
	}
	if !l.ring.done && l.ring.at == a {
		l.ring.step()
	}
}

// release ends the holding of an address.
func (l *lane) release(a netip.Addr, now time.Time) {
	l.held.strike(a)
	if l.pooled(a) {
		l.freed.add(a, now)
		l.forget()
	} else {
		l.unpooled--
	}
}

// forget keeps the queue of a vast lane short: as long as the ring turns there
// it would only grow. What is forgotten is fresh again, and the ring comes by
// when it has passed all others.
func (l *lane) forget() {
	if l.size < vast || l.ring.done || len(l.freed.where) <= remembered {
		return
	}
	a, _ := l.freed.oldest()
	l.freed.remove(a)
	l.ring.start = l.ring.at
}
