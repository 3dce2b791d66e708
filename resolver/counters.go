package resolver

import (
	"sync/atomic"

	"github.com/heddle-network/heddle/resolver/process"
)

// counters count what process.Counts tells.
type counters struct {
	answered, forwarded, failed, refused, limited, foreign, malformed, wrong atomic.Uint64
}

func (c *counters) read() process.Counts {
	return process.Counts{Answered: c.answered.Load(), Forwarded: c.forwarded.Load(), Failed: c.failed.Load(),
		Refused: c.refused.Load(), Limited: c.limited.Load(), Foreign: c.foreign.Load(), Malformed: c.malformed.Load(),
		Wrong: c.wrong.Load()}
}
