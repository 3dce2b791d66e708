package peer

import (
	"time"

	"github.com/heddle-network/heddle"
)

const (
	// refreshEvery is how often interfaces and the kernel's own path MTUs are read.
	refreshEvery = 2 * time.Second
	// maxBurst is how many peers are probed in one burst, burstEvery how often.
	maxBurst   = 20
	burstEvery = 50 * time.Millisecond
)

// run sends probes when they are due.
func (p *Peers) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	look := p.now()
	for {
		select {
		case <-p.done:
			return
		case <-timer.C:
		case <-p.wake:
		}
		now := p.now()
		if !now.Before(look) {
			p.refresh(now)
			look = now.Add(refreshEvery)
		}
		timer.Reset(max(time.Millisecond, min(p.burst(now), look.Sub(p.now()))))
	}
}

// burst calls step for peers that are due, and returns the time until the next burst.
func (p *Peers) burst(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	next, n := refreshEvery, 0
	for _, e := range p.peers {
		if wait := e.due.Sub(now); wait > 0 {
			next = min(next, wait)
			continue
		}
		if n++; n > maxBurst {
			return burstEvery
		}
		p.notifyIfChanged(e, func() {
			for _, size := range e.step(now) {
				p.send(e, size)
			}
		})
		next = min(next, e.due.Sub(now))
	}
	return next
}

// notifyIfChanged calls do, which may change the peer's path, and notifies if it did.
func (p *Peers) notifyIfChanged(e *entry, do func()) {
	old := e.path
	do()
	if old.State == e.path.State && old.MTU == e.path.MTU {
		return
	}
	if old.MTU != e.path.MTU {
		p.log.Info("path MTU", "peer", e.host.Name, "address", e.addr, "bytes", e.path.MTU, "before", old.MTU)
	}
	if old.State != e.path.State {
		p.log.Info("path to peer", "peer", e.host.Name, "address", e.addr, "state", e.path.State)
	}
	notify(p.changed)
}

// refresh opens missing sockets, and reads the MTUs of interfaces and the path MTUs that the kernel
// has learned from routers.
func (p *Peers) refresh(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.openProbersLocked()
	for f := range p.probers {
		p.readInterfaceLocked(f)
	}
	for _, e := range p.peers {
		f := heddle.FamilyOf(e.addr)
		cached := p.cached(e.addr)
		p.notifyIfChanged(e, func() {
			e.setMaxMTU(now, p.maxMTU(f, e.host))
			if cached != e.cached && cached > 0 && cached < e.size() {
				e.recheck(now)
			}
		})
		e.cached = cached
	}
}

// answered handles an echo reply, or a router's message about an echo request of ours:
// mtu is -1 for a reply, else the router's MTU (0: it does not say).
func (p *Peers) answered(m message) {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.sent[int(m.seq)%len(p.sent)]
	if one.to == nil || one.seq != m.seq || one.to.addr != m.peer || p.peers[one.to.host.ID] != one.to {
		return
	}
	p.notifyIfChanged(one.to, func() {
		switch {
		case m.mtu < 0:
			p.sent[int(m.seq)%len(p.sent)].to = nil
			one.to.onReply(now, one.at, one.size)
		case m.mtu < one.size:
			one.to.onRouterLimit(now, m.mtu)
		}
	})
	if !one.to.due.After(now) {
		notify(p.wake)
	}
}

// recheckPath checks the path to an address that a router's message is about.
func (p *Peers) recheckPath(m message) {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.peers {
		if e.addr == m.peer && m.mtu < e.size() {
			e.recheck(now)
			notify(p.wake)
		}
	}
}
