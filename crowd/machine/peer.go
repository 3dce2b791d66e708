package machine

import (
	"cmp"
	"context"
	"net"
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

// stay is in touch with it until the group ends, or it is gone.
func (p *Peer) stay() {
	var lost time.Time
	for p.group.ctx.Err() == nil {
		met, err := p.meet()
		if p.group.ctx.Err() != nil {
			return
		}
		if met || lost.IsZero() {
			lost = time.Now()
		}
		p.mu.Lock()
		p.failed = err
		ended := p.met && (p.done || time.Since(lost) > answerTime)
		if ended && !p.done {
			p.isGone, p.gone = true, time.Since(p.group.Epoch)-time.Since(lost)
		}
		gone := p.isGone
		p.left = ended
		p.mu.Unlock()
		if gone && p.group.Gone != nil {
			p.group.Gone(p.Part)
		}
		if ended {
			return
		}
		pause(p.group.ctx, findEvery)
	}
}

// meet meets it, and asks for its time now and then, until that fails.
func (p *Peer) meet() (met bool, err error) {
	l, err := p.dial(p.group.ctx)
	if err != nil {
		return false, err
	}
	defer p.group.drop(l.Conn)
	a, err := l.ask(request{Meet: &meet{p.group.Meeting, p.group.Part}}, maxLine)
	if err != nil {
		return false, err
	}
	for {
		if err := p.askTime(l); err != nil {
			return true, err
		}
		p.mu.Lock()
		if p.met = true; a.Roster != nil {
			p.roster = *a.Roster
		}
		p.mu.Unlock()
		select {
		case <-time.After(askEvery):
		case <-p.told:
		case <-p.group.ctx.Done():
			return true, p.group.ctx.Err()
		}
	}
}

const (
	// askEvery is how often it is asked for its time, and askTimes how often each time.
	askEvery = time.Second
	askTimes = 4
)

// askTime asks for its time, and tells it whether this part has been played.
func (p *Peer) askTime(l *line) error {
	for range askTimes {
		p.mu.Lock()
		q := ask{Done: p.finished}
		p.mu.Unlock()
		asked := p.group.since()
		a, err := l.ask(request{Time: &q}, maxRequest)
		if err != nil {
			return err
		}
		p.clock.add(sample{asked, a.Came, a.Went, p.group.since()})
		p.mu.Lock()
		p.knows = p.knows || q.Done
		p.mu.Unlock()
	}
	p.clock.note(p.group.since())
	return nil
}

// dial connects to it, by the first of its addresses that there is.
func (p *Peer) dial(ctx context.Context) (*line, error) {
	p.mu.Lock()
	addrs, isGone := p.at.Addrs, p.isGone
	p.mu.Unlock()
	if len(addrs) == 0 || isGone {
		return nil, errGone
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var first error
	for _, a := range addrs {
		c, err := p.group.Dial(ctx, netip.AddrPortFrom(a, Port))
		switch {
		case err != nil:
			first = cmp.Or(first, err)
		case !p.group.keep(c):
			return nil, net.ErrClosed
		default:
			return newLine(c), nil
		}
	}
	return nil, first
}

// Call calls one of its users, or its service. It tells where that one hears, and what ends the call: this end has sent so many
// packets, and learns what the other end has sent and heard.
func (p *Peer) Call(ctx context.Context, r Ring) (at netip.AddrPort, bye func(ours Heard) (Heard, error), err error) {
	l, err := p.dial(ctx)
	if err != nil {
		return at, nil, err
	}
	a, err := l.ask(request{Ring: &r}, maxRequest)
	if err == nil && a.At == nil {
		err = errGone
	}
	if err != nil {
		p.group.drop(l.Conn)
		return at, nil, err
	}
	return *a.At, func(ours Heard) (Heard, error) {
		defer p.group.drop(l.Conn)
		a, err := l.ask(request{Bye: &ours}, maxRequest)
		if err == nil && a.Heard == nil {
			err = errGone
		}
		if err != nil {
			return Heard{}, err
		}
		return *a.Heard, nil
	}, nil
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

// pause waits for a time, or for the context's end.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
