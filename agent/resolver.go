package agent

import (
	"context"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/resolver/process"
)

// resolverCheck is how often the agent looks whether the resolver still runs.
const resolverCheck = 5 * time.Second

// keepResolver keeps a resolver running until ctx ends, from the time on when a container may ask
// it. The resolver is a process of its own, which lives on when the agent ends.
func (t *nameTables) keepResolver(ctx context.Context) {
	for ctx.Err() == nil {
		if t.asked() {
			running, started, err := process.Ensure(ctx, t.resolver, t.dir, heddle.Version)
			if started {
				t.log.Info("a resolver was started", "pid", running.PID)
			}
			t.setResolverFailed(err)
		}
		select {
		case <-ctx.Done():
		case <-t.askedSignal:
		case <-time.After(resolverCheck):
		}
	}
}

// asked reports whether containers ask for names at an address of this host.
func (t *nameTables) asked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.tables {
		if len(one.is.Listen) > 0 {
			return true
		}
	}
	return false
}

func (t *nameTables) setResolverFailed(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && t.resolverFailed == nil {
		t.log.Error("containers' questions for names are not answered", "error", err)
	}
	t.resolverFailed = err
}
