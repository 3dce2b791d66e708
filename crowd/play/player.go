// Package play has the people of a crowd do what was planned, each from a network namespace of their own.
package play

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/protocol"
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
}

// protocol is how users talk to a service.
func (s Seat) protocol() protocol.Protocol {
	if s.Speaks == nil {
		return protocol.BuiltIn{}
	}
	return s.Speaks
}

// Player plays a plan. One goroutine waits for the next session; a person who does nothing has none.
type Player struct {
	Plan *plan.Plan
	// Users are the seats of all users, the first one that of user 1. Services are those of services, by name.
	Users    []Seat
	Services map[string]Seat
	// Length is how long the crowd plays. Sessions that are open then may go on for Grace.
	Length, Grace time.Duration
	Tally         *tally.Tally
	// Diary records what happens; nil records nothing.
	Diary *diary.Recorder

	begun time.Time
}

// Play plays sessions, in the order of time, from now on. It returns when all have ended, or at the end of the grace, or
// when the context ends.
func (p *Player) Play(ctx context.Context, starts []plan.Start) {
	p.begun = time.Now()
	ctx, cancel := context.WithDeadline(ctx, p.begun.Add(p.Length+p.Grace))
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	for _, at := range starts {
		if !sleepUntil(ctx, p.begun.Add(at.At)) {
			return
		}
		running.Go(func() { p.session(p.Plan.Session(at)).run(ctx) })
	}
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
