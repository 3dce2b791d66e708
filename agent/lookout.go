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
	// looking holds one value while somebody looks.
	looking chan struct{}
	// next is when the next look is due. It is changed while looking is held.
	next time.Time
}

// plugSeen is how often the agent looks whether the kernel has found a NIC. Looking takes at most a third of the time.
const plugSeen = 20 * time.Millisecond

func newLookout(host *hostView) *lookout {
	return &lookout{host: host, looking: make(chan struct{}, 1)}
}

// links returns the host's interfaces, as they were a moment ago at most.
func (l *lookout) links(ctx context.Context) ([]heddle.LinkFact, error) {
	select {
	case l.looking <- struct{}{}:
		defer func() { <-l.looking }()
	case <-ctx.Done():
		return l.host.now().Links, nil
	}
	if begun := time.Now(); !begun.Before(l.next) {
		if err := l.host.refresh(); err != nil {
			return nil, err
		}
		l.next = time.Now().Add(max(plugSeen, 2*time.Since(begun)))
	}
	return l.host.now().Links, nil
}
