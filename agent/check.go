package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/kernel"
)

// Check compares an endpoint, or with a zero ID everything, with the kernel. It repairs nothing.
// But first it completes the interfaces that engines have moved into containers, as the patrol
// does, so that they are not reported as drift.
func (a *Agent) Check(id heddle.EndpointID) ([]heddle.Finding, error) {
	a.handovers.completeHandovers(0)
	if id != (heddle.EndpointID{}) {
		r, known := a.records.get(id)
		if !known {
			return nil, noEndpoint(id)
		}
		return a.checkRecord(r)
	}
	var all []heddle.Finding
	networks := a.networks.copies()
	records := a.records.filter(notPending)
	for _, n := range networks {
		drift, err := a.kernel.Diff(n.plan, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, findings("network "+n.Name, drift)...)
	}
	for _, r := range records {
		found, err := a.checkRecord(r)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (a *Agent) checkRecord(r record) ([]heddle.Finding, error) {
	owner := r.Endpoint.ID.String()
	if r.offered() {
		drift, err := a.kernel.Diff(heddle.Plan{Host: r.Plan.Host}, nil)
		return findings(owner, drift), err
	}
	if !r.hasPod() {
		return nil, nil
	}
	pod, err := a.kernel.OpenPod(r.Endpoint.Netns)
	if err != nil {
		return []heddle.Finding{{Kind: "gone", Object: r.Endpoint.Netns, Owner: owner, Detail: err.Error()}}, nil
	}
	defer pod.Close()
	drift, err := a.kernel.Diff(r.Plan, pod)
	return findings(owner, drift), err
}

// hasPod reports whether the endpoint is in a container's namespace.
func (r record) hasPod() bool { return len(r.Plan.Pod.Links) > 0 || r.Endpoint.Handover }

func findings(owner string, drift []kernel.Difference) []heddle.Finding {
	var all []heddle.Finding
	for _, d := range drift {
		all = append(all, heddle.Finding{Kind: d.Kind, Object: d.Key, Owner: owner, Detail: d.Detail})
	}
	return all
}

// auditTime is how long an audit waits for operations under way that concern no endpoint.
const auditTime = 5 * time.Second

// Audit compares everything with the kernel. It reports our objects that no plan wants, wanted
// objects that are missing, endpoints without a container, and unfinished operations.
func (a *Agent) Audit() ([]heddle.Finding, error) {
	a.removals.await("")
	// wait: an object that is being made is not missing, and one that is being removed is not left
	// over
	late := a.tasks.await(auditTime, ofNoEndpoint)
	a.handovers.completeHandovers(0)
	differences, err := a.differences()
	if err == nil && len(differences) > 0 { // an operation that began meanwhile may have caused some of them
		late = a.tasks.await(auditTime, ofNoEndpoint)
		var still []heddle.Finding
		still, err = a.differences()
		differences = slices.DeleteFunc(differences, func(f heddle.Finding) bool {
			return !slices.ContainsFunc(still, func(s heddle.Finding) bool { return s.Kind == f.Kind && s.Object == f.Object })
		})
	}
	if err != nil {
		return nil, err
	}
	var all []heddle.Finding
	for _, l := range late {
		all = append(all, heddle.Finding{Kind: "pending", Object: l.What, Owner: l.Network, Detail: l.String()})
	}
	all = append(append(all, differences...), a.holds.listStrays()...)
	beside, err := a.lanDevices.extraDevices()
	if err != nil {
		return nil, err
	}
	return append(append(all, beside...), a.unsettled()...), nil
}

// differences lists our objects on the host that no plan wants, and wanted objects that are
// missing.
func (a *Agent) differences() ([]heddle.Finding, error) {
	left, err := a.plans.leftovers()
	if err != nil {
		return nil, err
	}
	var all []heddle.Finding
	for _, k := range left {
		all = append(all, heddle.Finding{Kind: "leftover", Object: k})
	}
	drift, err := a.kernel.Diff(heddle.Plan{Host: a.plans.union(a.unsettled()...)}, nil)
	return append(all, findings("", drift)...), err
}

func ofNoEndpoint(w work) bool { return w.endpoint == "" }

// unsettled lists endpoints without a container, in quarantine, or with an unfinished operation.
func (a *Agent) unsettled() []heddle.Finding {
	held := a.quarantine.reasons()
	records, pending := []record{}, map[heddle.EndpointID]string{}
	a.records.each(func(r record, op string) {
		records = append(records, r)
		pending[r.Endpoint.ID] = op
	})
	var all []heddle.Finding
	for _, r := range records {
		owner := r.Endpoint.ID.String()
		switch op := pending[r.Endpoint.ID]; {
		case held[r.Endpoint.ID] != "":
			all = append(all, heddle.Finding{Kind: "quarantine", Object: op, Owner: owner, Detail: held[r.Endpoint.ID]})
		case op != "":
			all = append(all, heddle.Finding{Kind: "pending", Object: op, Owner: owner})
		case r.hasPod() && !a.containers.podAlive(r):
			all = append(all, heddle.Finding{Kind: "gone", Object: r.Endpoint.Netns, Owner: owner,
				Detail: "the container's namespace is no more"})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Owner < all[j].Owner })
	return all
}

// GC removes endpoints whose container is gone, and objects with our mark that no plan wants. With
// an owner, it removes only that owner's endpoints that are not in keep (the CNI verb GC). It
// spares endpoints that are being attached at the same time, because keep cannot contain them.
func (a *Agent) GC(ctx context.Context, owner string, keep []heddle.EndpointID) (removed []string, err error) {
	defer a.metrics.observe("gc", time.Now(), &err)
	a.removals.await("")
	var errs []error
	beside := a.beingAttached()
	all := a.Endpoints()
	maps.Copy(beside, a.beingAttached())
	for _, e := range all {
		if owner != "" && beside[e.ID.String()] {
			continue
		}
		gone, err := a.collect(e.ID, func(r record) bool {
			return a.garbage(r, owner, keep) && (owner == "" || r.Endpoint.Created.Equal(e.Created))
		})
		if err != nil {
			errs = append(errs, err) // the others are still collected
		} else if gone {
			removed = append(removed, "endpoint "+e.ID.String())
		}
	}
	if owner != "" {
		return removed, errors.Join(errs...)
	}
	swept, err := a.holds.removeStrays()
	removed, errs = append(removed, swept...), append(errs, err)
	pruned, err := a.kernel.Prune(a.wanted.has)
	if err == nil {
		err = a.ledger.setUnclaimed(false)
	}
	return append(removed, pruned...), errors.Join(append(errs, err)...)
}

// beingAttached returns the IDs, as text, of endpoints whose attach is under way.
func (a *Agent) beingAttached() map[string]bool {
	all := map[string]bool{}
	for _, l := range a.tasks.olderThan(0, func(w work) bool { return w.what == intentAttach }) {
		all[l.Endpoint] = true
	}
	return all
}

// garbage reports whether GC has to remove an endpoint.
func (a *Agent) garbage(r record, owner string, keep []heddle.EndpointID) bool {
	switch {
	case owner != "":
		return r.Request.Owner == owner && !slices.Contains(keep, r.Endpoint.ID)
	case a.records.pendingOf(r.Endpoint.ID) != "":
		return true // an earlier call could not finish
	}
	return r.hasPod() && !a.containers.podAlive(r)
}

// collect removes an endpoint if it is garbage, and passes its default route to another endpoint.
func (a *Agent) collect(id heddle.EndpointID, garbage func(record) bool) (gone bool, err error) {
	r, gone, err := a.removeIf(id, garbage, a.endpointLocks.Lock)
	if gone && err == nil && r.Endpoint.DefaultRoute {
		a.defaults.pass(r.Inode)
	}
	return gone, err
}

// removeIf removes an endpoint if it is garbage. It first takes the endpoint's lock by calling
// lock, so that the endpoint is not being made at the same time.
func (a *Agent) removeIf(id heddle.EndpointID, garbage func(record) bool,
	lock func(heddle.EndpointID) func()) (r record, gone bool, err error) {
	defer lock(id)()
	r, known := a.records.get(id)
	if !known || !garbage(r) {
		return r, false, nil
	}
	defer a.activity.begin()()
	return r, true, a.remove(r)
}

// Explain returns an endpoint as the commands that would make it, with its differences from the
// kernel.
func (a *Agent) Explain(id heddle.EndpointID) (heddle.Explained, error) {
	r, known := a.records.get(id)
	if !known {
		return heddle.Explained{}, noEndpoint(id)
	}
	drift, err := a.checkRecord(r)
	if err != nil {
		return heddle.Explained{}, fmt.Errorf("explain %s: %w", id, err)
	}
	return heddle.Explained{Endpoint: r.Endpoint, Commands: commands.Of(r.Plan, r.Endpoint.Netns), Drift: drift}, nil
}
