package eni

import (
	"maps"
	"net/netip"
	"slices"
	"time"
)

// lateTime is how long a change of addresses counts although the list does not have it: longer than the list lags behind, and a call takes.
const lateTime = 30 * time.Second

// change is that a NIC has got an address, or has not any more.
type change struct {
	there bool
	at    time.Time
}

// furtherOf are the further addresses of a NIC, with those that have come and gone lately.
func (p *Provider) furtherOf(n NIC, at Subnet, l Limits) further {
	p.mu.Lock()
	defer p.mu.Unlock()
	return furtherOf(n, at, l.paired(at), p.lately[n.ID], time.Now())
}

// note records that a NIC has got addresses or prefixes, or has them no more, for the time in which the list may not say so.
func (p *Provider) note(id string, there bool, all ...netip.Prefix) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lately[id] == nil {
		p.lately[id] = map[netip.Prefix]change{}
	}
	now := time.Now()
	maps.DeleteFunc(p.lately[id], func(_ netip.Prefix, c change) bool { return now.Sub(c.at) >= lateTime })
	for _, a := range all {
		p.lately[id][a] = change{there, now}
	}
}

// gaveLately reports whether a NIC has got an address, or a prefix, from this process a short time ago, and has it.
func (p *Provider) gaveLately(id string, a netip.Prefix) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.lately[id][a]
	return c.there && time.Since(c.at) < lateTime
}

// sureOf reports whether the list has all that was done to a NIC's addresses. Until then another agent, that was killed, may have done what is not
// listed.
func (p *Provider) sureOf(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	from, known := p.sureFrom[id]
	if !known {
		from = p.opened.Add(p.settings.Lag)
	}
	return !time.Now().Before(from)
}

// doubt notes that it is not known what a call has done: one that was to take these addresses off, or one that may have assigned addresses that were taken
// off before. The list says it, some time later.
func (p *Provider) doubt(id string, all ...netip.Prefix) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sureFrom[id] = time.Now().Add(p.settings.Lag)
	maps.DeleteFunc(p.lately[id], func(a netip.Prefix, c change) bool { return !c.there || slices.Contains(all, a) })
}

// forget ends what is known of a NIC that is gone.
func (p *Provider) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lately, id)
	delete(p.sureFrom, id)
}
