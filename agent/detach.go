package agent

import (
	"context"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// Detach removes an endpoint by its recorded plan. An endpoint that is not
// there is removed already; a namespace that is gone took its part with it.
func (a *Agent) Detach(ctx context.Context, id heddle.EndpointID) (found bool, err error) {
	defer a.metrics.observe("detach", time.Now(), &err)
	if err := id.Check(); err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, heddle.Wrap(heddle.Waited, "detach", id.String(), err, "call again")
	}
	if !a.ready.Load() {
		return false, heddle.Errorf(heddle.Stopping, "detach", id.String(), "call again when the agent is back")
	}
	defer a.ids.lock(id)()
	defer a.work()()
	r, known := a.lookup(id)
	if !known {
		return false, nil
	}
	if err := a.step("ledger intent detach"); err != nil {
		return true, err
	}
	if err := a.ledger.putIntent(r, intentDetach); err != nil {
		// a full disk must not keep a container from going: the record, when it
		// is read again, says "made", and gc finds the namespace gone
		a.log.Warn("detach not recorded beforehand", "endpoint", id, "error", err)
	}
	a.mu.Lock()
	a.pending[id] = intentDetach
	a.mu.Unlock()
	if err := a.undo(r); err != nil {
		return true, err
	}
	if err := a.step("ledger forget"); err != nil {
		return true, err
	}
	return true, a.forget(r, time.Now())
}

// undo removes from the kernel what the record's plan says and no other plan
// wants.
func (a *Agent) undo(r record) error {
	pod, err := kernel.OpenNetns(r.Endpoint.Netns)
	if err != nil || !a.inPod(r, pod) {
		// gone, or the path leads to somebody else's namespace by now; the
		// host's end of the link takes the container's end with it
		if pod != nil {
			pod.Close()
		}
		pod = nil
	} else {
		defer pod.Close()
	}
	defer a.sharing(r)()
	// not wanted by this plan any more; wanted again if the removal fails
	a.unwant(r)
	if err := a.kernel.Remove(r.Plan, pod, a.isWanted); err != nil {
		a.mu.Lock()
		a.wanted.add(r.Plan.Host)
		a.mu.Unlock()
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.endpoints, r.Endpoint.ID)
	return nil
}

// sharing locks out others while objects that several endpoints want may be
// made or removed. Most plans have none, and wait for nobody.
func (a *Agent) sharing(r record) func() {
	if len(r.Plan.Host.Links) < 2 {
		return func() {}
	}
	a.shared.Lock()
	return a.shared.Unlock
}

// forget drops the record of an endpoint that undo has removed, and gives back
// what it held.
func (a *Agent) forget(r record, freed time.Time) error {
	a.mu.Lock()
	delete(a.endpoints, r.Endpoint.ID)
	delete(a.pending, r.Endpoint.ID)
	a.mu.Unlock()
	if n, err := a.network(r.Endpoint.NetworkName); err == nil {
		a.release(n, r.Endpoint)
	}
	return a.ledger.drop(r.Endpoint, freed)
}
