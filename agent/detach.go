package agent

import (
	"context"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// Detach removes an endpoint by its recorded plan. An endpoint that is not
// there is removed already; a namespace that is gone took its part with it.
func (a *Agent) Detach(ctx context.Context, id heddle.EndpointID) (found bool, err error) {
	defer a.metrics.observe("detach", time.Now(), &err)
	if err := a.acceptDetach(ctx, id); err != nil {
		return false, err
	}
	t := a.tasks.begin(work{what: "detach", endpoint: id.String()}, "the kernel")
	defer t.end()
	r, found, err := a.detach(id)
	if found && err == nil && r.Endpoint.DefaultRoute {
		a.passDefault(r.Inode)
	}
	return found, err
}

// acceptDetach checks what can be checked without looking at anything else.
func (a *Agent) acceptDetach(ctx context.Context, id heddle.EndpointID) error {
	if err := id.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return heddle.Wrap(heddle.Waited, "detach", id.String(), err, "call again")
	}
	if !a.ready.Load() {
		return heddle.Errorf(heddle.Stopping, "detach", id.String(), "call again when the agent is back")
	}
	return nil
}

func (a *Agent) detach(id heddle.EndpointID) (r record, found bool, err error) {
	defer a.ids.Lock(id)()
	defer a.work()()
	if r, found = a.lookup(id); !found {
		return r, false, nil
	}
	return r, true, a.remove(r)
}

// remove takes an endpoint away: intent, deed, record. The caller holds its
// lock. It may be called again after a failure.
func (a *Agent) remove(r record) error {
	if _, err := a.begin(r); err != nil {
		return err
	}
	return a.end(r)
}

// begin records that an endpoint is going, and reports whether that is on disk.
func (a *Agent) begin(r record) (recorded bool, err error) {
	if err := a.step("ledger intent detach"); err != nil {
		return false, err
	}
	if err = a.ledger.putIntent(r, intentDetach); err != nil {
		// a full disk must not keep a container from going: the record, when it
		// is read again, says "made", and gc finds the namespace gone
		a.log.Warn("detach not recorded beforehand", "endpoint", r.Endpoint.ID, "error", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.setPending(r.Endpoint.ID, intentDetach)
	return err == nil, nil
}

// end removes an endpoint of which that is recorded.
func (a *Agent) end(r record) error {
	if err := a.undo(r); err != nil {
		return err
	}
	if err := a.step("ledger forget"); err != nil {
		return err
	}
	return a.forget(r, time.Now())
}

// undo removes from the kernel what the record's plan says and no other plan
// wants.
func (a *Agent) undo(r record) error {
	plan, pod := a.removal(r)
	if pod != nil {
		defer pod.Close()
	}
	defer a.sharing(r)()
	// not wanted by this plan any more; wanted again if the removal fails
	a.unwant(r)
	err := a.kernel.Remove(plan, pod, a.isWanted)
	if err == nil {
		err = a.letGo(r)
	}
	if err != nil {
		a.want(r)
	}
	return err
}

// podOf opens the namespace that the endpoint's interface is in. There is none
// if it is gone, or if the path leads to somebody else's by now: then the host's
// end of the link takes the container's end with it. An interface without an end
// on the host is looked for, since its namespace may live on without the path.
func (a *Agent) podOf(r record) *kernel.Netns {
	pod, err := kernel.OpenNetns(a.wayInto(r))
	if err == nil && (r.Endpoint.NIC != nil && pod.Inode() == r.Inode || r.Endpoint.NIC == nil && a.inPod(r, pod)) {
		return pod
	}
	if err == nil {
		pod.Close()
	}
	onParent := func(l heddle.Link) bool { return l.Parent != "" }
	if !slices.ContainsFunc(r.Plan.Pod.Links, onParent) {
		return nil
	}
	if pod = kernel.FindNetns(r.Inode); pod != nil && !a.inPod(r, pod) {
		pod.Close()
		return nil
	}
	return pod
}

// sharing locks out others while links that several endpoints want may be made or
// removed. Most plans have none, and wait for nobody: the ends of the endpoint's own
// link are its alone.
func (a *Agent) sharing(r record) func() {
	return a.lockLinks(r.Plan.Host.Links, func(l heddle.Link) bool { return l.Name != r.Endpoint.ID.PortName() && l.Name != r.handName() })
}

// sharingParent is sharing for a network: those on one parent have a device there in
// common.
func (a *Agent) sharingParent(p heddle.Plan) func() {
	return a.lockLinks(p.Host.Links, func(l heddle.Link) bool { return l.Parent != "" })
}

// lockLinks takes the locks of those links that are shared, by name, so that two who
// want several wait for each other at the first.
func (a *Agent) lockLinks(all []heddle.Link, shared func(heddle.Link) bool) func() {
	var names []string
	for _, l := range all {
		if shared(l) {
			names = append(names, l.Name)
		}
	}
	slices.Sort(names)
	var unlock []func()
	for _, name := range slices.Compact(names) {
		unlock = append(unlock, a.links.Lock(name))
	}
	return func() {
		for _, u := range unlock {
			u()
		}
	}
}

// forget drops the record of an endpoint that undo has removed, from the ledger
// first, and gives back what it held.
func (a *Agent) forget(r record, freed time.Time) error {
	if err := a.ledger.drop(r.Endpoint, freed); err != nil {
		return err
	}
	a.erase(r)
	a.forgetFlows(r.Endpoint)
	if n, err := a.networkFor(r.Endpoint); err == nil {
		a.release(n, r.Endpoint)
	}
	return nil
}
