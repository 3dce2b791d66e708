package agent

import (
	"context"
	"errors"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/kernel"
)

// Detach removes an endpoint by its recorded plan. It succeeds if there is no such endpoint. If
// the namespace is gone, the kernel has removed its contents already.
func (a *Agent) Detach(ctx context.Context, id heddle.EndpointID) (found bool, err error) {
	defer a.metrics.observe("detach", time.Now(), &err)
	if err := a.acceptDetach(ctx, id); err != nil {
		return false, err
	}
	t := a.tasks.begin(work{what: "detach", endpoint: id.String()}, "the kernel")
	defer t.end()
	r, found, err := a.detach(id)
	if found && err == nil && r.Endpoint.DefaultRoute {
		a.defaults.pass(r.Inode)
	}
	if found && err == nil && r.plugged() != nil {
		t.waitFor("the provider of its NIC")
		a.plugs.takeOutDropped(ctx, r.plugged().Token)
	}
	return found, err
}

// acceptDetach makes the checks that need nothing but the request.
func (a *Agent) acceptDetach(ctx context.Context, id heddle.EndpointID) error {
	if err := id.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return heddle.Wrap(heddle.Waited, "detach endpoint", id.String(), err, "call again")
	}
	if !a.ready.Load() {
		return heddle.Errorf(heddle.Stopping, "detach endpoint", id.String(), "", "call again when the agent is back")
	}
	return nil
}

func (a *Agent) detach(id heddle.EndpointID) (r record, found bool, err error) {
	defer a.endpointLocks.Lock(id)()
	defer a.activity.begin()()
	if r, found = a.records.get(id); !found {
		a.dhcp.end(id) // what was leased ahead
		return r, false, nil
	}
	return r, true, a.remove(r)
}

// remove removes an endpoint: it records the intent, changes the kernel and drops the
// record. remove may be called again after a failure.
func (a *Agent) remove(r record) error {
	if _, err := a.beginRemoval(r); err != nil {
		return err
	}
	return a.endRemoval(r)
}

// beginRemoval records that an endpoint is being removed, and reports whether the record is on
// disk.
func (a *Agent) beginRemoval(r record) (recorded bool, err error) {
	a.endpointLocks.mustHold(r.Endpoint.ID)
	if err := a.trip.step("ledger intent detach"); err != nil {
		return false, err
	}
	if err = a.ledger.putIntent(r, intentDetach); err != nil {
		// a full disk must not prevent a detach: if the agent restarts, the record says "made",
		// and GC finds the namespace gone
		a.log.Warn("detach not recorded beforehand", "endpoint", r.Endpoint.ID, "error", err)
	}
	a.records.setPending(r.Endpoint.ID, intentDetach)
	a.routes.refresh() // before its address can be another's
	return err == nil, nil
}

// endRemoval removes an endpoint after beginRemoval.
func (a *Agent) endRemoval(r record) error {
	if err := a.removeFromKernel(r); err != nil && !a.takeOutHeld(r, err) {
		return err
	}
	if err := a.trip.step("ledger forget"); err != nil {
		return err
	}
	return a.dropRecord(r, time.Now())
}

// removeFromKernel removes the objects of the record's plan that no other plan wants.
func (a *Agent) removeFromKernel(r record) error {
	plan, pod, err := a.handovers.removalPlan(r)
	if err != nil {
		return err
	}
	if pod != nil {
		defer pod.Close()
	}
	return a.removePlan(r, plan, pod)
}

// removePlan removes the plan's objects and whatever else the container has on its parent's LAN,
// and stops holding its namespace.
func (a *Agent) removePlan(r record, plan heddle.Plan, pod kernel.Pod) error {
	defer a.linkLocks.lockShared(r)()
	// this plan wants the objects no longer; it wants them again if the removal fails
	a.wanted.dropRecord(r)
	if r.Request.ResolvConf {
		a.dropResolvConf(r.Endpoint)
	}
	a.releaseOnNIC(r)
	err := errors.Join(a.lanDevices.removeFromLAN(r, pod), a.kernel.Remove(plan, pod, a.wanted.has))
	if err == nil {
		err = a.holds.release(r)
	}
	if err != nil {
		a.wanted.addRecord(r)
	}
	return a.quarantine.update(r.Endpoint.ID, err)
}

// dropRecord drops the record of an endpoint that is gone from the kernel, from the ledger first,
// and gives back what it held.
func (a *Agent) dropRecord(r record, freed time.Time) error {
	if err := a.ledger.drop(r.Endpoint, freed); err != nil {
		return err
	}
	a.forgetInMemory(r)
	a.flows.forgetEndpoint(r.Endpoint)
	if n, err := a.networks.ofEndpoint(r.Endpoint); err == nil {
		a.release(n, r.Endpoint)
	}
	a.networks.endpointEvent(events.Detached, r.Endpoint)
	return nil
}

// forgetInMemory drops an endpoint's record from memory.
func (a *Agent) forgetInMemory(r record) {
	a.wanted.dropRecord(r)
	a.records.remove(r)
	a.quarantine.forget(r.Endpoint.ID)
	a.policies.refresh() // what fails is told, and tried again
	a.havips.refresh()
}
