package machine

import (
	"context"
	"errors"
	"net"
	"time"
)

// accept takes connections until the listener is closed.
func (g *Group) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			pause(g.ctx, findEvery)
			continue
		}
		p := g.from(c)
		if p == nil { // a stranger, or a part that has not been found yet, and tries again
			c.Close()
			continue
		}
		if g.keep(c) {
			g.running.Go(func() {
				defer g.drop(c)
				g.serve(newLine(c), p)
			})
		}
	}
}

// from is the part that a connection comes from; nil is a stranger's. Addresses are those of the network's endpoints, which nobody else
// can have there.
func (g *Group) from(c net.Conn) *Peer {
	at, is := c.RemoteAddr().(*net.TCPAddr)
	if !is {
		return nil
	}
	for _, p := range g.peers {
		if p.is(at.AddrPort().Addr().Unmap()) {
			return p
		}
	}
	return nil
}

// serve answers another part's requests on one connection, until it asks for what cannot be.
func (g *Group) serve(l *line, p *Peer) {
	var first request
	if l.SetReadDeadline(time.Now().Add(answerTime)) != nil || l.read(&first, maxRequest) != nil {
		return
	}
	switch m := first.Meet; {
	case m != nil && (!m.Same(g.Meeting) || m.Part != p.Part):
		_ = l.write(answer{Refused: "it is a part of another crowd"})
	case m != nil:
		if l.write(answer{Roster: &g.Roster}) == nil {
			g.tellTime(l, p)
		}
	case first.Ring != nil:
		g.talk(l, p, *first.Ring)
	}
}

// tellTime answers questions for the time.
func (g *Group) tellTime(l *line, p *Peer) {
	for {
		var q request
		if l.SetDeadline(time.Now().Add(askEvery+2*answerTime)) != nil || l.read(&q, maxRequest) != nil || q.Time == nil {
			return
		}
		came := g.since()
		p.says(q.Time.Done)
		if l.write(answer{Came: came, Went: g.since()}) != nil {
			return
		}
	}
}

// talk has somebody here take a call, for which the connection is.
func (g *Group) talk(l *line, p *Peer, r Ring) {
	ctx, end := context.WithCancel(g.ctx)
	defer end()
	select { // the other clock may be a little ahead
	case <-g.playing:
	case <-time.After(answerTime):
		return
	case <-ctx.Done():
		return
	}
	g.mu.Lock()
	a := g.answerer
	g.mu.Unlock()
	at, bye, err := a.Answer(ctx, r, p.Clock)
	if err != nil {
		_ = l.write(answer{Refused: err.Error()})
		return
	}
	var q request
	err = l.SetDeadline(time.Now().Add(r.Lasts + 2*answerTime))
	if err == nil {
		err = l.write(answer{At: &at})
	}
	if err == nil {
		err = l.read(&q, maxRequest)
	}
	if err != nil || q.Bye == nil {
		end() // who has called is gone
		bye(Heard{})
		return
	}
	heard := bye(*q.Bye)
	_ = l.write(answer{Heard: &heard})
}
