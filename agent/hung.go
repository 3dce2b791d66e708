package agent

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/heddle-network/heddle"
)

const (
	// hungCheck is how often the agent looks for work that hangs.
	hungCheck = 5 * time.Second
	// hungAfter is how long work may take before the log has the agent's goroutines, which are maxStacks bytes at most.
	hungAfter = time.Minute
	maxStacks = 256 << 10
	// stacksAgain is how soon the log may have them again.
	stacksAgain = 10 * time.Minute
)

// hung tells of work that takes long, in the log: who looks into it later finds out there what it waited for.
type hung struct {
	log *slog.Logger
	// told has the work that was told already.
	told map[heddle.Late]bool
	// stacks is when the log had the goroutines; zero if never.
	stacks time.Time
}

// watch looks for such work until ctx ends.
func (h *hung) watch(ctx context.Context, ts *tasks) {
	for pause(ctx, hungCheck) {
		h.tell(ts.olderThan(stuckAfter, nil), time.Now())
	}
}

// tell logs each of the late ones once, and the goroutines if one of them hangs.
func (h *hung) tell(late []heddle.Late, now time.Time) {
	told := map[heddle.Late]bool{}
	for _, l := range late {
		key := heddle.Late{What: l.What, Network: l.Network, Endpoint: l.Endpoint, Since: l.Since}
		if told[key] = true; !h.told[key] {
			h.log.Warn("work takes long", "work", l.String())
		}
		if now.Sub(l.Since) >= hungAfter && (h.stacks.IsZero() || now.Sub(h.stacks) >= stacksAgain) {
			h.stacks = now
			text := make([]byte, maxStacks)
			h.log.Warn("work hangs; these are the agent's goroutines", "work", l.String(), "goroutines", string(text[:runtime.Stack(text, true)]))
		}
	}
	h.told = told
}
