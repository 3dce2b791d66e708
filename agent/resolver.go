package agent

import (
	"context"
	"net/netip"
	"slices"
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

// endResolver ends the resolver that an earlier agent has started.
func (t *nameTables) endResolver(ctx context.Context) {
	if err := process.End(ctx, t.dir); err != nil {
		t.log.Warn("an earlier agent's resolver runs on", "error", err)
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

// servedTime is how long an attach waits for the resolver, which starts with a host's first container,
// and whose first sockets at an address are opened with a network's first. Programs ask for names as soon
// as they run, and many take a port that is closed for a final answer.
const servedTime = time.Second

// awaitServed waits until the resolver listens at these addresses, or has said that it cannot.
func (t *nameTables) awaitServed(ctx context.Context, all []netip.Addr) {
	patience, enough := context.WithTimeout(ctx, servedTime)
	defer enough()
	for !t.isServed(all) {
		running, _ := process.Find(t.dir)
		said, err := process.ReadStatus(t.dir)
		ofRunning := err == nil && said != nil && running != nil && said.PID == running.PID
		if ofRunning && said.Version == heddle.Version && t.noteServed(all, *said) {
			return
		}
		pause(patience, 5*time.Millisecond)
		if patience.Err() != nil {
			return
		}
	}
}

// isServed reports whether nothing is to be waited for: the resolver was seen to listen there, or none
// could be started.
func (t *nameTables) isServed(all []netip.Addr) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.resolverFailed != nil || !slices.ContainsFunc(all, func(a netip.Addr) bool { return !t.served[a] })
}

// noteServed notes where the resolver listens, and reports whether it has decided about all addresses.
func (t *nameTables) noteServed(all []netip.Addr, said process.Status) (decided bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	decided = true
	for _, a := range all {
		if slices.Contains(said.Serves, a) {
			t.served[a] = true
		} else if !slices.ContainsFunc(said.Fails, func(f process.Fail) bool { return f.Addr == a }) {
			decided = false
		}
	}
	return decided
}

func (t *nameTables) setResolverFailed(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && t.resolverFailed == nil {
		t.log.Error("containers' questions for names are not answered", "error", err)
	}
	t.resolverFailed = err
}
