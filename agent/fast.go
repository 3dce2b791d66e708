package agent

import (
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
)

// fastPart is the status of the fast path, if a network of this host would use it.
func (a *Agent) fastPart(s *heddle.Status) []heddle.PartStatus {
	used := slices.ContainsFunc(a.Networks(), func(n heddle.Network) bool {
		return n.Fast() && slices.Contains([]string{"bridge", "routed", "overlay"}, n.Mode)
	})
	if !used {
		return nil
	}
	part := heddle.PartStatus{Name: "fast path", State: "ok"}
	c, err := a.kernel.FastTotals()
	if err != nil {
		part.Detail = "not used: " + err.Error()
		return []heddle.PartStatus{part}
	}
	s.Fast = &c
	part.Detail = fmt.Sprintf("%d packets carried, %d left to the host's stack", c.Carried(), c.Left())
	return []heddle.PartStatus{part}
}

// withCounts adds what the fast path did for an endpoint.
func (a *Agent) withCounts(r record) heddle.Endpoint {
	e := r.shown()
	if len(r.Plan.Host.Programs) == 0 {
		return e
	}
	if c, err := a.kernel.FastCounts(e.Port); err == nil {
		e.Fast = &c
	}
	return e
}
