package agent

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

const (
	// hungCheck is how often the agent looks for work that hangs.
	hungCheck = 5 * time.Second
	// hungAfter is how long work may take before the log has the agent's goroutines.
	hungAfter = time.Minute
	// maxStacks bounds their text, in bytes.
	maxStacks = 64 << 10
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

// tell logs those that are late since the last call, and the goroutines if one of all hangs.
func (h *hung) tell(late []heddle.Late, now time.Time) {
	told := map[heddle.Late]bool{}
	var texts []string
	for _, l := range late {
		key := heddle.Late{What: l.What, Network: l.Network, Endpoint: l.Endpoint, Since: l.Since}
		if told[key] = true; !h.told[key] {
			texts = append(texts, l.String())
		}
	}
	h.told = told
	if len(texts) > 0 {
		h.log.Warn("work takes long", "count", len(texts), "work", firstFew(texts, "; "))
	}
	if len(late) > 0 && now.Sub(late[0].Since) >= hungAfter && (h.stacks.IsZero() || now.Sub(h.stacks) >= stacksAgain) {
		h.stacks = now
		var text strings.Builder
		pprof.Lookup("goroutine").WriteTo(&text, 1) // those that wait in the same place are one entry
		all := text.String()
		h.log.Warn("work hangs; these are the agent's goroutines", "work", late[0].String(), "goroutines", all[:min(len(all), maxStacks)])
	}
}
