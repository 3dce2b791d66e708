package machine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Found is a part of this crowd that is on the network.
type Found struct {
	Part  Part
	Host  string
	Addrs []netip.Addr
}

// Options of a group.
type Options struct {
	Meeting
	// Part is this one, and Roster who is in it.
	Part   Part
	Roster Roster
	// Find lists the other parts that are on the network. An error is what is wrong with one; it ends all waiting.
	Find func(context.Context) ([]Found, error)
	// Dial connects to another part.
	Dial func(context.Context, netip.AddrPort) (net.Conn, error)
	// Gone is told when another part has ended before its time.
	Gone func(Part)
}

// Answerer has a user of this part talk with one of another part. It tells where the user hears, and what ends the call. Clock is by how much
// the caller's clock is ahead.
type Answerer interface {
	Answer(ctx context.Context, r Ring, clock func() Clock) (at netip.AddrPort, bye func(theirs Heard) Heard, err error)
}

// Group are the parts of a crowd, as this one sees them.
type Group struct {
	Options
	// Epoch is when the crowd begins, by this machine's clock.
	Epoch time.Time

	peers   []*Peer
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	playing chan struct{} // closed when the answerer is there

	mu       sync.Mutex
	answerer Answerer
	open     map[net.Conn]struct{}
	closed   bool
}

// Open has other parts find this one, at the listeners, which it closes at its end.
func Open(o Options, at ...net.Listener) *Group {
	g := &Group{Options: o, Epoch: epoch(o.Begin, time.Now()), playing: make(chan struct{}), open: map[net.Conn]struct{}{}}
	g.ctx, g.end = context.WithCancel(context.Background())
	for number := 1; number <= o.Part.Of; number++ {
		if number != o.Part.Number {
			g.peers = append(g.peers, &Peer{Part: Part{number, o.Part.Of}, group: g, told: make(chan struct{}, 1)})
		}
	}
	for _, l := range at {
		context.AfterFunc(g.ctx, func() { l.Close() })
		g.running.Go(func() { g.accept(l) })
	}
	return g
}

// epoch is a time of the wall clock, as one from which durations can be taken though that clock be set.
func epoch(begin, now time.Time) time.Time { return now.Add(begin.Sub(now.Round(0))) }

// Peers are the other parts, in the order of their numbers.
func (g *Group) Peers() []*Peer { return slices.Clone(g.peers) }

// Play has calls of other parts' users answered from now on.
func (g *Group) Play(a Answerer) {
	g.mu.Lock()
	g.answerer = a
	g.mu.Unlock()
	close(g.playing)
}

// Finish tells the others that all of this part has been played, and waits until they have done so, too, or are gone, or the context ends.
func (g *Group) Finish(ctx context.Context) {
	for _, p := range g.peers {
		p.finish()
	}
	for {
		if !slices.ContainsFunc(g.peers, func(p *Peer) bool { return !p.over() }) {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

// Early says which parts have ended before their time, and when.
func (g *Group) Early() (all []string) {
	for _, p := range g.peers {
		if at, gone := p.goneAt(); gone {
			all = append(all, fmt.Sprintf("part %s ended %s after the begin", p.Part, max(0, at).Round(100*time.Millisecond)))
		}
	}
	return all
}

// Clock is that of the other part which was most apart from this one's.
func (g *Group) Clock() (most Clock) {
	for _, p := range g.peers {
		if c := p.clock.most(); most == (Clock{}) || abs(c.Ahead) > abs(most.Ahead) {
			most = c
		}
	}
	return most
}

// Close ends all connections with other parts.
func (g *Group) Close() {
	g.end()
	g.mu.Lock()
	g.closed = true
	for c := range g.open {
		c.Close()
	}
	g.mu.Unlock()
	g.running.Wait()
}

// since is this machine's time, since the crowd's begin.
func (g *Group) since() time.Duration { return time.Since(g.Epoch) }

// keep has a connection closed with the group. It reports false if that has ended.
func (g *Group) keep(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		c.Close()
		return false
	}
	g.open[c] = struct{}{}
	return true
}

// drop closes a connection.
func (g *Group) drop(c net.Conn) {
	c.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, c)
}

// errGone is the error of what needs a part that has ended.
var errGone = errors.New("the other part of the crowd has ended")
