package service

import (
	"context"
	"sync"

	"github.com/heddle-network/heddle"
)

// maxRequests is how many requests of one machine are worked on at a time. Others wait.
const maxRequests = 8

// guest is a machine of the configuration, with its locks. They are taken in the order of the fields.
type guest struct {
	Guest
	name string
	// room has an entry for each request that is worked on.
	room chan struct{}
	// tokens are the locks of NICs, while somebody has or wants them.
	tokens map[string]*tokenLock
	mu     sync.Mutex // of tokens
	// making is full while ports are counted and one is made, so that there are never too many.
	making chan struct{}
}

// tokenLock is full while it is held.
type tokenLock struct {
	held  chan struct{}
	users int
}

func newGuest(name string, g Guest) *guest {
	return &guest{Guest: g, name: name, room: make(chan struct{}, maxRequests), tokens: map[string]*tokenLock{}, making: make(chan struct{}, 1)}
}

// enter waits for room, and then for the lock of the token ("": none). After an error of code heddle.Waited
// nothing is held.
func (g *guest) enter(ctx context.Context, token string) (leave func(), err error) {
	if err := g.take(ctx, g.room); err != nil {
		return nil, err
	}
	leaveRoom := func() { <-g.room }
	if token == "" {
		return leaveRoom, nil
	}
	lock := g.use(token)
	if err := g.take(ctx, lock.held); err != nil {
		g.unuse(token, lock)
		leaveRoom()
		return nil, err
	}
	return func() {
		<-lock.held
		g.unuse(token, lock)
		leaveRoom()
	}, nil
}

func (g *guest) use(token string) *tokenLock {
	g.mu.Lock()
	defer g.mu.Unlock()
	lock := g.tokens[token]
	if lock == nil {
		lock = &tokenLock{held: make(chan struct{}, 1)}
		g.tokens[token] = lock
	}
	lock.users++
	return lock
}

func (g *guest) unuse(token string, lock *tokenLock) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if lock.users--; lock.users == 0 {
		delete(g.tokens, token)
	}
}

// take fills one place of a channel, if the context does not end before.
func (g *guest) take(ctx context.Context, place chan struct{}) error {
	if ctx.Err() == nil { // select chooses at random
		select {
		case place <- struct{}{}:
			return nil
		case <-ctx.Done():
		}
	}
	return heddle.Wrap(heddle.Waited, "wait for other requests of machine", g.name, ctx.Err(), "ask again")
}
