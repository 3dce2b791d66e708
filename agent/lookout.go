package agent

import (
	"context"
	"time"

	"github.com/heddle-network/heddle"
)

// lookout has those who wait for NICs look at the host's interfaces together: many may wait at once, and each look takes the longer the more
// interfaces there are.
type lookout struct {
	host *hostView
	// looking holds one value while somebody looks. The times are changed meanwhile.
	looking chan struct{}
	// begun is when the last look that succeeded began, next when the next one may: looking takes at most a third of the time.
	begun, next time.Time
}

func newLookout(host *hostView) *lookout {
	return &lookout{host: host, looking: make(chan struct{}, 1)}
}

// links returns the host's interfaces, as they are after the call has begun.
func (l *lookout) links(ctx context.Context) ([]heddle.LinkFact, error) {
	called := time.Now()
	select {
	case l.looking <- struct{}{}:
		defer func() { <-l.looking }()
	case <-ctx.Done():
		return nil, nil
	}
	if l.begun.After(called) {
		return l.host.now().Links, nil
	}
	if wait := time.Until(l.next); wait > 0 && !pause(ctx, wait) {
		return nil, nil
	}
	begun := time.Now()
	if err := l.host.refresh(); err != nil {
		return nil, err
	}
	l.begun, l.next = begun, time.Now().Add(2*time.Since(begun))
	return l.host.now().Links, nil
}
