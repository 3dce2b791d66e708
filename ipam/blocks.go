package ipam

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// SetBlocks restricts the pool to the parts of the subnets that this host allocates
// from, without the addresses in except, which maps each address to its holder. Leases
// stay as they are, even outside. A pool whose blocks were never set has the whole
// subnets.
func (p *Pool) SetBlocks(blocks []netip.Prefix, except map[netip.Addr]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.families {
		l.setBlocks(blocks, except)
	}
}

// Lend sets an address aside for another host, unless an endpoint has it.
func (p *Pool) Lend(a netip.Addr, to string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, l := p.familyOf(a)
	if l == nil || !l.subnet.Contains(a) {
		return heddle.Errorf(heddle.OutsidePool, "lend address", a.String(), "it is in no subnet of network "+p.name, "choose an address in one of the network's subnets")
	}
	object := a.String() + " of network " + p.name
	if part := l.ownUse(a); part != "" {
		return heddle.Errorf(heddle.AddressTaken, "lend address", object, "it is the "+part+" of "+l.subnet.String(), "choose another address")
	}
	if who := l.setAside[a]; who != "" && who != to {
		return heddle.Errorf(heddle.AddressTaken, "lend address", object, who+" has it", "choose another address")
	}
	if holder := l.held.holder(a); holder != nil {
		return heddle.Errorf(heddle.AddressTaken, "lend address", object, "endpoint "+holder.id.String()+" has it", "detach that endpoint, or choose another address")
	}
	l.freed.remove(a)
	l.setAside[a] = to
	l.size = l.count()
	return nil
}

// Reclaim ends a Lend; the address goes to quarantine.
func (p *Pool) Reclaim(a netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, l := p.familyOf(a)
	if l == nil || l.setAside[a] == "" {
		return
	}
	delete(l.setAside, a)
	l.size = l.count()
	switch {
	case !l.automatic(a):
	case l.isHeld(a): // it counted as given out on request only
		l.heldOnRequest--
	default:
		l.freed.add(a, p.now())
	}
}

// Holder returns the id that has an address, and whether there is one.
func (p *Pool) Holder(a netip.Addr) (id heddle.EndpointID, held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, l := p.familyOf(a); l != nil {
		if lease := l.held.holder(a); lease != nil {
			return lease.id, true
		}
	}
	return id, false
}

// Idle reports whether no address of a block is leased, lent or quarantined.
func (p *Pool) Idle(block netip.Prefix) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, l := p.familyOf(block.Addr())
	return l == nil || !l.leased(block) && !l.freed.any(block, p.now().Add(-p.quarantine))
}

// Leased reports whether an address of a block is leased, or lent to another host.
func (p *Pool) Leased(block netip.Prefix) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, l := p.familyOf(block.Addr())
	return l != nil && l.leased(block)
}

func (l *familyPool) leased(block netip.Prefix) bool {
	for a, who := range l.setAside {
		if block.Contains(a) && who != heddle.HostItself {
			return true
		}
	}
	return l.held.any(block)
}

// setBlocks begins a new round over the blocks. It starts at the address that was next, if that is
// in one of the blocks.
func (l *familyPool) setBlocks(blocks []netip.Prefix, except map[netip.Addr]string) {
	var parts []netip.Prefix
	for _, b := range blocks {
		if !l.subnet.Contains(b.Addr()) {
			continue
		}
		for _, r := range l.ranges {
			switch {
			case within(b, r):
				parts = append(parts, b)
			case within(r, b):
				parts = append(parts, r)
			}
		}
	}
	slices.SortFunc(parts, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	at := l.ring.at
	l.ring = newRing(parts)
	l.ring.restart(at)
	l.setAside = map[netip.Addr]string{}
	for a, who := range except {
		if l.subnet.Contains(a) {
			l.setAside[a] = who
		}
	}
	l.freed.keep(l.automatic)
	l.size, l.heldOnRequest = l.count(), l.held.count-l.held.countIf(l.automatic)
}

func within(inner, outer netip.Prefix) bool {
	return inner.Bits() >= outer.Bits() && outer.Contains(inner.Addr())
}

// any reports whether an address of the prefix is held.
func (b *holderTable) any(prefix netip.Prefix) bool {
	return b.countIf(prefix.Contains) > 0
}

// countIf counts the held addresses for which is returns true.
func (b *holderTable) countIf(is func(netip.Addr) bool) (count uint64) {
	for a, p := range b.pages {
		for _, holder := range p.holders {
			if holder != nil && is(a) {
				count++
			}
			a = a.Next()
		}
	}
	return count
}

// keep drops all addresses for which is returns false.
func (q *queue) keep(is func(netip.Addr) bool) {
	for a := range q.where {
		if !is(a) {
			q.remove(a)
		}
	}
}

// any reports whether an address of the prefix was freed after t.
func (q *queue) any(prefix netip.Prefix, t time.Time) bool {
	for a, e := range q.where {
		if prefix.Contains(a) && e.Value.(freed).since.After(t) {
			return true
		}
	}
	return false
}
