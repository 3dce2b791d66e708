package ipam

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// Restore records a lease from before the agent's start. Restoring the same lease twice is no
// error. It may name any address that an endpoint can hold, also one that is set aside for another
// host, since the endpoint has it in any case. The prefix length is always the subnet's.
func (p *Pool) Restore(id heddle.EndpointID, addrs []netip.Prefix) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.leases[id]; known != nil {
		return known.differs(addrs)
	}
	var want []netip.Addr
	for _, a := range addrs {
		want = append(want, a.Addr())
	}
	asked, err := p.checkRequested(id, want, (*familyPool).checkHoldable)
	if err != nil {
		return err
	}
	p.record(id, slices.DeleteFunc(asked, func(a netip.Prefix) bool { return !a.IsValid() }))
	return nil
}

// differs refuses addresses that are not of the lease.
func (l *lease) differs(addrs []netip.Prefix) error {
	for _, a := range addrs {
		same := func(b netip.Prefix) bool { return a.Addr() == b.Addr() }
		if !slices.ContainsFunc(l.addrs, same) {
			return heddle.Errorf(heddle.EndpointDiffers, "restore the lease of endpoint", l.id.String(), "it has a lease without "+a.String(),
				"detach it and attach it again")
		}
	}
	return nil
}

// RestoreQuarantine records when an address was freed before the agent's start. The calls may come
// in any order. It ignores an address that is leased, or that is given out on request only. A time
// in the future, from before the clock was set back, counts as now.
func (p *Pool) RestoreQuarantine(a netip.Addr, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, l := p.familyOf(a)
	if l == nil || !l.automatic(a) || l.isHeld(a) {
		return
	}
	if now := p.now(); since.After(now) {
		since = now
	}
	l.freed.restore(a, since)
}

// Cursor returns the next never-used address of each family. The agent stores it, so that
// allocation continues there after a restart. If there is none left, Cursor returns the address at
// which the round began and ended.
func (p *Pool) Cursor() map[heddle.Family]netip.Addr {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[heddle.Family]netip.Addr{}
	for _, l := range p.families {
		l.advance()
		all[l.family()] = l.ring.at
	}
	return all
}

// SetCursor begins a new round at the addresses that Cursor returned. An address that is neither
// leased nor known to have been freed counts as never used. Addresses before the cursor come after
// those behind it. A cursor outside the ranges is ignored.
func (p *Pool) SetCursor(cursor map[heddle.Family]netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.families {
		l.ring.restart(cursor[l.family()])
	}
}
