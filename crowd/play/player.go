// Package play has the people of a crowd do what was planned, each from a network namespace of their own.
package play

import (
	"context"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/crowd/tally"
)

// Seat is where a user, or a service, is on the network.
type Seat struct {
	Namespace socket.Namespace
	// Addrs are its addresses, at most one of each family.
	Addrs []netip.Addr
	// Name is the name by which a service is found, and Resolvers are where a user asks for it. Without them nobody
	// asks.
	Name      string
	Resolvers []netip.Addr
	// Speaks is how users talk to a service; nil is to the one that is built in.
	Speaks protocol.Protocol
	// Far is the part of the crowd, on another machine, that has the seat; then there is no namespace here. Nil is this one.
	Far *machine.Peer
}

// protocol is how users talk to a service when they do something.
func (s Seat) protocol(does scenario.Action) protocol.Protocol {
	if s.Speaks == nil {
		return protocol.BuiltIn{}
	}
	return protocol.For(s.Speaks, does)
}

// Options of a player.
type Options struct {
	Plan *plan.Plan
	// Users are the seats of the users with whom it begins, the first one that of user 1. Services are those of services,
	// by name.
	Users    []Seat
	Services map[string]Seat
	// Start is when the crowd begins; zero is now.
	Start time.Time
	// Length is how long the crowd plays. Sessions that are open then may go on for Grace.
	Length, Grace time.Duration
	Tally         *tally.Tally
	// Diary records what happens; nil records nothing.
	Diary *diary.Recorder
	// Finish, if it is set, is called when all sessions have ended. Until it returns, calls of other parts' users go on.
	Finish func()
}

// Player plays a plan. One goroutine waits for the next session; a person who does nothing has none.
type Player struct {
	Options
	start time.Time
	roster
	// pacers are as many as there are processors. They take calls in turn; calls is how many they have taken.
	pacers []*pacer
	calls  atomic.Uint64
}

// New returns a player that begins at its start. The sessions are in the order of time.
func New(o Options, starts []plan.Start) *Player {
	if o.Start.IsZero() {
		o.Start = time.Now()
	}
	p := &Player{Options: o, start: o.Start,
		roster: roster{users: slices.Clone(o.Users), queue: queue{starts}, going: map[*part]struct{}{}, look: make(chan struct{}, 1)}}
	for range runtime.GOMAXPROCS(0) {
		p.pacers = append(p.pacers, newPacer())
	}
	return p
}

// Play plays the sessions. It returns when all have ended, or at the end of the grace, or when the context ends. Nobody
// joins afterwards.
func (p *Player) Play(ctx context.Context) {
	ctx, cancel := context.WithDeadline(ctx, p.start.Add(p.Length+p.Grace))
	defer cancel()
	defer p.pace()()
	if p.Finish != nil {
		defer p.Finish()
	}
	var running sync.WaitGroup
	defer running.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		mine, one, at, wait, over := p.next(ctx)
		if over {
			return
		}
		if one != nil {
			running.Go(func() {
				defer p.finish(one)
				p.play(mine, one, at)
			})
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-p.look:
		case <-ctx.Done():
		}
	}
	p.close()
}

// pace starts the pacers, and returns what ends them.
func (p *Player) pace() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, one := range p.pacers {
		all.Go(func() { one.run(ctx) })
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// pacer is the one whose turn it is to take a call.
func (p *Player) pacer() *pacer { return p.pacers[p.calls.Add(1)%uint64(len(p.pacers))] }

// play draws a session, and plays it. One that cannot be drawn does not begin.
func (p *Player) play(ctx context.Context, one *part, at plan.Start) {
	s, err := p.Plan.Session(ctx, at)
	if err == nil {
		sleepUntil(ctx, p.start.Add(s.Start))
		p.session(one, s).run(ctx)
	} else if ctx.Err() == nil {
		p.fail(err)
	}
}

// close has nobody join any more.
func (p *Player) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
}

// sleepUntil waits for a time. It reports false if the context ended before.
func sleepUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
