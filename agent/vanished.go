package agent

import (
	"time"

	"github.com/heddle-network/heddle"
)

// collectVanished removes the endpoints that were handed over and whose containers
// have been gone for a whole patrol: an engine that was killed, or that found no
// agent when it dropped them, does not tell of them again. Missing says since when
// each is gone; it is returned for the next patrol.
func (a *Agent) collectVanished(missing map[heddle.EndpointID]time.Time) map[heddle.EndpointID]time.Time {
	still := map[heddle.EndpointID]time.Time{}
	for _, r := range a.roll.handedOver() {
		if !a.over(r) {
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
		gone, err := a.collect(id, a.over)
		switch {
		case err != nil:
			still[id] = since
			a.log.Error("an endpoint whose container is gone stays", "endpoint", id, "error", err)
		case gone:
			a.log.Info("container is gone, and its engine did not say so; its endpoint is removed", "endpoint", id, "addresses", r.Endpoint.Addrs)
		}
	}
	return still
}

// over reports whether an endpoint that was handed over has vanished, or was to be
// removed and could not be.
func (a *Agent) over(r record) bool {
	id := r.Endpoint.ID
	return !a.departures.has(id) && (a.roll.pendingOf(id) == intentDetach || a.vanished(r))
}

// vanished reports whether an endpoint that was handed over is certainly over. That
// its namespace cannot be opened is not enough: its path may be one that cannot be
// seen from here. What has a NIC is looked after by vigil.
func (a *Agent) vanished(r record) bool {
	if !r.Endpoint.Handover || r.Endpoint.NIC != nil {
		return false
	}
	back, err := a.kernel.Has(r.handName(), r.alias())
	if err != nil || back {
		return err == nil && !r.offered() // taken once, its engine has taken it out again
	}
	for _, l := range r.Plan.Host.Links {
		if l.Kind != "veth" {
			continue
		}
		// with the container's end it would have gone
		if there, err := a.kernel.Has(l.Name, l.Alias); err != nil || there {
			return false
		}
	}
	if r.offered() {
		return !a.podAlive(r)
	}
	pod, err := a.podOf(r)
	if pod == nil {
		return err == nil
	}
	defer pod.Close()
	seen, err := a.seek(r, pod)
	return err == nil && seen == nil
}
