package machine

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Peer is another part of the crowd.
type Peer struct {
	Part  Part
	group *Group
	clock watch
	told  chan struct{} // has it ask at once

	mu       sync.Mutex
	at       Found
	meeting  bool // somebody sees to it
	met      bool
	roster   Roster
	failed   error
	finished bool // this part is
	knows    bool // that part knows it
	done     bool // that part is
	left     bool // nobody is in touch with it any more
	gone     time.Duration
	isGone   bool
}

// Roster is who is in it.
func (p *Peer) Roster() Roster {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.roster
}

// Clock is what is known now of its clock.
func (p *Peer) Clock() Clock { return p.clock.now(p.group.since()) }

// found says where it is.
func (p *Peer) found(f Found) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = f
	if !p.meeting {
		p.meeting = true
		p.group.running.Go(p.stay)
	}
}

// is reports whether an address is its own.
func (p *Peer) is(a netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.at.Addrs, a)
}

// missing says why it has not been met; "" if it has.
func (p *Peer) missing() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.isGone:
		return "on host " + p.at.Host + " has ended"
	case p.met:
		return ""
	case p.failed != nil:
		return "on host " + p.at.Host + " does not answer (" + p.failed.Error() + ")"
	}
	return "is not there"
}

// finish has it told that this part has been played.
func (p *Peer) finish() {
	p.mu.Lock()
	p.finished = true
	p.mu.Unlock()
	select {
	case p.told <- struct{}{}:
	default:
	}
}

// says takes whether that part has been played.
func (p *Peer) says(done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = p.done || done
}

// over reports whether nothing more is to be waited for: both parts know that the other one has been played, or that one has gone.
func (p *Peer) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left || p.done && p.knows
}

// goneAt says when it was gone before its time, since the begin.
func (p *Peer) goneAt() (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone, p.isGone
}
