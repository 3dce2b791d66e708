package service

import (
	"context"
	"sync"

	"github.com/heddle-network/heddle"
)

// locks are locks by name. A name that nobody has or wants takes no memory.
type locks struct {
	mu   sync.Mutex
	byID map[string]*lock
}

// lock is full while it is held.
type lock struct {
	held  chan struct{}
	users int
}

// take waits for a lock. After an error of code heddle.Waited it is not held.
func (l *locks) take(ctx context.Context, id string) (release func(), err error) {
	one := l.use(id)
	if err := fill(ctx, one.held); err != nil {
		l.unuse(id, one)
		return nil, heddle.Wrap(heddle.Waited, "wait for another request about NIC", id, err, "ask again")
	}
	return func() {
		<-one.held
		l.unuse(id, one)
	}, nil
}

func (l *locks) use(id string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = map[string]*lock{}
	}
	one := l.byID[id]
	if one == nil {
		one = &lock{held: make(chan struct{}, 1)}
		l.byID[id] = one
	}
	one.users++
	return one
}

func (l *locks) unuse(id string, one *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.byID, id)
	}
}

// fill fills one place of a channel, if the context does not end before.
func fill(ctx context.Context, place chan struct{}) error {
	if ctx.Err() == nil { // select chooses at random
		select {
		case place <- struct{}{}:
			return nil
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}
