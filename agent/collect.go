package agent

import (
	"cmp"
	"time"

	"github.com/heddle-network/heddle"
)

// collectVanished removes the endpoints whose containers have been gone for a whole patrol: nobody
// may report them. The owner of a bare namespace does not, and neither does a runtime that was
// killed, or that found no agent when it removed them. missing says since when each seems gone; it
// is returned for the next patrol.
func (a *Agent) collectVanished(missing map[heddle.EndpointID]time.Time) map[heddle.EndpointID]time.Time {
	still := map[heddle.EndpointID]time.Time{}
	for _, r := range a.records.filter(func(_ record, op string) bool { return op != intentAttach }) {
		if !a.seemsGone(r) {
			continue
		}
		id := r.Endpoint.ID
		since, known := missing[id]
		if !known {
			since = time.Now()
		}
		if time.Since(since) < cmp.Or(a.opt.Patrol, patrolEvery) {
			still[id] = since
			continue
		}
		gone, err := a.collect(id, a.isGone)
		switch {
		case err != nil:
			still[id] = since
			a.log.Error("an endpoint whose container is gone stays", "endpoint", id, "error", err)
		case gone:
			a.log.Info("container is gone, and nobody said so; its endpoint is removed",
				"endpoint", id, "addresses", r.Endpoint.Addrs)
		default: // it lives; searching again soon would cost too much
			still[id] = time.Now()
		}
	}
	return still
}

// seemsGone is isGone for a first look, without a search for namespaces that no path leads to.
func (a *Agent) seemsGone(r record) bool {
	if r.Endpoint.Handover {
		return a.isGone(r)
	}
	return a.containers.outOfSight(r)
}

// isGone reports whether an endpoint's container is gone for certain. For one that was handed over,
// it is enough that its removal failed before.
func (a *Agent) isGone(r record) bool {
	id := r.Endpoint.ID
	switch {
	case a.removals.has(id):
		return false
	case r.Endpoint.Handover:
		return a.records.pendingOf(id) == intentDetach || a.containers.hasVanished(r)
	}
	return a.containers.outOfSight(r) && !a.containers.podAlive(r)
}
