package machine

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"time"
)

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

// pause waits for a time, or for the context's end.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
