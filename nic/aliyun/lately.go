package aliyun

import (
	"net/netip"
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
func (p *Provider) furtherOf(e eni, at vSwitch, k kind) further {
	p.mu.Lock()
	defer p.mu.Unlock()
	return furtherOf(e, at, k.paired(at), p.lately[e.ID], time.Now())
}

// note records that a NIC has got addresses, or has them no more, for the time in which the list may not say so.
func (p *Provider) note(id string, there bool, all ...netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lately[id] == nil {
		p.lately[id] = map[netip.Addr]change{}
	}
	for _, a := range all {
		p.lately[id][a] = change{there, time.Now()}
	}
}

// sureOf reports whether the list has all that was done to a NIC's addresses. Until then another agent, that was killed, may have done what is not
// listed.
func (p *Provider) sureOf(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	from, known := p.sureFrom[id]
	if !known {
		from = p.opened.Add(askAgain)
	}
	return !time.Now().Before(from)
}

// doubt notes that it is not known what a call has done.
func (p *Provider) doubt(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sureFrom[id] = time.Now().Add(askAgain)
}

// forget ends what is known of a NIC that is gone.
func (p *Provider) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lately, id)
	delete(p.sureFrom, id)
}
