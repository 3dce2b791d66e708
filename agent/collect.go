package agent

import (
	"time"

	"github.com/heddle-network/heddle"
)

// collectVanished removes the endpoints that were handed over and whose containers have been gone
// for a whole patrol. An engine that was killed, or that found no agent when it removed them, does
// not report them again. missing says since when each is gone; it is returned for the next patrol.
func (a *Agent) collectVanished(missing map[heddle.EndpointID]time.Time) map[heddle.EndpointID]time.Time {
	still := map[heddle.EndpointID]time.Time{}
	for _, r := range a.records.handedOver() {
		if !a.isGone(r) {
			continue
		}
		id := r.Endpoint.ID
		since, known := missing[id]
		if !known {
			since = time.Now()
		}
		if time.Since(since) < patrolEvery {
			still[id] = since
			continue
		}
		gone, err := a.collect(id, a.isGone)
		switch {
		case err != nil:
			still[id] = since
			a.log.Error("an endpoint whose container is gone stays", "endpoint", id, "error", err)
		case gone:
			a.log.Info("container is gone, and its engine did not say so; its endpoint is removed",
				"endpoint", id, "addresses", r.Endpoint.Addrs)
		}
	}
	return still
}

// isGone reports whether an endpoint that was handed over has vanished, or its removal failed
// before.
func (a *Agent) isGone(r record) bool {
	id := r.Endpoint.ID
	return !a.removals.has(id) && (a.records.pendingOf(id) == intentDetach || a.containers.hasVanished(r))
}
