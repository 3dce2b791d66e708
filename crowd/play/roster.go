package play

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
)

// roster is who is there, what they are going to begin, and what they have under way.
type roster struct {
	mu    sync.Mutex
	users []Seat // the first one that of user 1
	queue queue
	going map[*part]struct{}
	begun int // sessions
	// stays says that the crowd waits for its length, though nobody has anything to do: others may join.
	stays bool
	over  bool
	look  chan struct{} // what is due next may be another session
	// failed says why the first session that could not be drawn was not.
	failed error
}

// part is a session that goes on.
type part struct {
	user int
	seat Seat
	with int // the other user of a call, or 0; the roster's
	// left says that one of the two was taken out of the crowd, which ends the session.
	left  atomic.Bool
	end   context.CancelFunc
	ended chan struct{}
}

// wake has Play look what is due.
func (r *roster) wake() {
	select {
	case r.look <- struct{}{}:
	default:
	}
}

// drawing is how long before it begins a session is drawn: one with a cache takes as long as all that the user did before
// (scenario's maxKept), and nobody is to wait for it.
const drawing = 100 * time.Millisecond

// next begins the session that is due now, but for the time to draw it, if there is one. Otherwise it returns for how long there is nothing to begin, unless
// all is over.
func (p *Player) next(ctx context.Context) (mine context.Context, begins *part, at plan.Start, wait time.Duration, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Since(p.start)
	first, has := p.queue.next()
	switch {
	case has && first-drawing > now:
		return ctx, nil, at, first - drawing - now, false
	case has:
		at = p.queue.pop()
		begins = &part{user: int(at.User), seat: p.users[at.User-1], ended: make(chan struct{})}
		mine, begins.end = context.WithCancel(ctx)
		p.going[begins] = struct{}{}
		p.begun++
		return mine, begins, at, 0, false
	case p.stays && now < p.Length:
		return ctx, nil, at, p.Length - now, false
	}
	p.over = len(p.going) == 0
	return ctx, nil, at, p.Length + p.Grace, p.over
}

// finish takes a session that has ended from the roster.
func (p *Player) finish(one *part) {
	one.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.going, one)
	close(one.ended)
	if len(p.going) == 0 {
		p.wake()
	}
}

// fail says that a session could not be drawn.
func (r *roster) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}

// Failed says why the first session that could not be drawn was not; nil if all were.
func (r *roster) Failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Stay has the crowd play for its length, at least, though nobody may have anything to do: others may join.
func (p *Player) Stay() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stays = true
}

// Join takes more users into the crowd, behind those who are there. They begin those of their sessions that start from now
// on. It reports false if all is over.
func (p *Player) Join(seats []Seat, starts []plan.Start) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	p.users = append(p.users, seats...)
	p.intend(p.queue.add(starts, time.Since(p.start)), 1)
	p.wake()
	return true
}

// Leave takes the users above the last one out of the crowd: they begin nothing more, and what they have under way ends, as do
// calls of others with them. It returns when all that has ended.
func (p *Player) Leave(last int) {
	p.mu.Lock()
	p.users = p.users[:min(last, len(p.users))]
	p.intend(p.queue.drop(last), -1)
	var leaving []*part
	for one := range p.going {
		if one.user > last || one.with > last {
			one.left.Store(true)
			one.end()
			leaving = append(leaving, one)
		}
	}
	p.wake()
	p.mu.Unlock()
	for _, one := range leaving {
		<-one.ended
	}
}

// intend counts sessions as intended, or with -1 as not intended any more.
func (p *Player) intend(starts []plan.Start, each int64) {
	more := map[string]int64{}
	for _, s := range starts {
		more[p.Plan.Behaviour(s)] += each
	}
	for behaviour, n := range more {
		p.Tally.Intend(behaviour, n)
	}
}

// Due is how many sessions should have begun.
func (p *Player) Due() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun + p.queue.due(time.Since(p.start))
}

// meet is where another user is, for a call; there is false if the user is not in this crowd.
func (p *Player) meet(caller *part, user int) (seat Seat, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if user > len(p.users) {
		return Seat{}, false
	}
	caller.with = user
	return p.users[user-1], true
}

// hangUp ends what meet has begun.
func (p *Player) hangUp(caller *part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	caller.with = 0
}
