package allocation_test

import (
	"context"
	"errors"
	"sync"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// gate is what an agent's every step goes through: it stops at it while it is
// paused, and never passes it once it was killed.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed unless paused
	dead chan struct{} // closed when killed
}

func newGate() *gate { return &gate{open: passing(), dead: make(chan struct{})} }

var errKilled = heddle.Wrap(heddle.StoreDown, "call", "the store", errors.New("the agent was killed"), "")

var errLost = heddle.Wrap(heddle.StoreDown, "call", "the store", errors.New("no answer"), "")

func (g *gate) pass() error {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
	case <-g.dead:
	}
	select {
	case <-g.dead:
		return errKilled
	default:
		return nil
	}
}

func (g *gate) pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		g.open = make(chan struct{})
	default:
	}
}

func (g *gate) resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

func (g *gate) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.dead:
	default:
		close(g.dead)
	}
}

// gated is a store behind a gate: an agent may sleep, or die, before a call is
// sent and after it was made.
type gated struct {
	store.Store
	gate *gate
	// spoil changes what a broken agent commits.
	spoil func(store.Change) store.Change
	// late, if set, takes a change that is to be under way for long: its answer
	// never comes.
	late func(store.Change) bool
}

func (s gated) Commit(ctx context.Context, c store.Change) (bool, int64, error) {
	if err := s.gate.pass(); err != nil {
		return false, 0, err
	}
	if s.spoil != nil {
		c = s.spoil(c)
	}
	if s.late != nil && s.late(c) {
		return false, 0, errLost
	}
	done, revision, err := s.Store.Commit(ctx, c)
	if err := s.gate.pass(); err != nil {
		return false, 0, err
	}
	return done, revision, err
}

func (s gated) Read(ctx context.Context, prefix string) (store.Snapshot, error) {
	if err := s.gate.pass(); err != nil {
		return store.Snapshot{}, err
	}
	return s.Store.Read(ctx, prefix)
}

func (s gated) Watch(ctx context.Context, prefix string) <-chan store.Event {
	in, out := s.Store.Watch(ctx, prefix), make(chan store.Event)
	go func() {
		defer close(out)
		for e := range in {
			if s.gate.pass() != nil {
				continue // the channel is drained until it is closed
			}
			select {
			case out <- e:
			case <-ctx.Done():
			}
		}
	}()
	return out
}
