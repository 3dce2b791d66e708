package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/heddle-network/heddle"
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
		return a.checkRecord(r, a.compareHost)
	}
	return a.checkAll()
}

// checkRecord compares an endpoint's objects with the kernel, in its container and, by compare, on the host.
func (a *Agent) checkRecord(r record, compare func(host heddle.State) ([]kernel.Difference, error)) ([]heddle.Finding, error) {
	if !r.hasPod() && !r.Endpoint.TAP {
		return nil, nil
	}
	inside, gone, err := a.checkInside(r)
	if err != nil || gone {
		return inside, err
	}
	host, err := compare(r.Plan.Host)
	return append(findings(r.Endpoint.ID.String(), r.remedy(), host), inside...), err
}

// compareHost compares what is wanted on the host with the kernel.
func (a *Agent) compareHost(wanted heddle.State) ([]kernel.Difference, error) {
	return a.kernel.Diff(heddle.Plan{Host: wanted}, nil)
}

// checkInside compares what an endpoint has in its container with the kernel. It reports whether
// the container is gone.
func (a *Agent) checkInside(r record) (found []heddle.Finding, gone bool, err error) {
	if r.offered() || !r.hasPod() {
		return nil, false, nil
	}
	pod, err := a.containers.openPod(r)
	switch {
	case err != nil:
		return nil, false, err
	case pod == nil:
		return []heddle.Finding{r.gone()}, true, nil
	}
	defer pod.Close()
	drift, err := a.kernel.Diff(heddle.Plan{Pod: r.Plan.Pod}, pod)
	return findings(r.Endpoint.ID.String(), r.remedy(), drift), false, err
}

// gone is the finding about an endpoint whose container is gone.
func (r record) gone() heddle.Finding {
	return heddle.Finding{Kind: "gone", Object: r.Endpoint.Netns, Owner: r.Endpoint.ID.String(),
		Detail: "the container's namespace is no more", Remedy: remedyGC}
}

// hasPod reports whether the endpoint is in a container's namespace.
func (r record) hasPod() bool { return len(r.Plan.Pod.Links) > 0 || r.Endpoint.Handover }

const (
	// auditTime is how long an audit waits for operations under way that concern no endpoint.
	auditTime = 5 * time.Second
	// comparedTime is how long it waits for the first comparison after a start. With 10,000 endpoints that takes
	// some seconds.
	comparedTime = time.Minute
)

// Audit compares everything with the kernel. It reports our objects that no plan wants, wanted
// objects that are missing, endpoints without a container, and unfinished operations.
func (a *Agent) Audit() ([]heddle.Finding, error) {
	awaitAll(context.Background(), comparedTime, []<-chan struct{}{a.compared})
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
			return !slices.ContainsFunc(still, func(s heddle.Finding) bool {
				return s.Kind == f.Kind && s.Object == f.Object && s.Owner == f.Owner
			})
		})
	}
	if err != nil {
		return nil, err
	}
	var all []heddle.Finding
	for _, l := range late {
		all = append(all, heddle.Finding{Kind: "pending", Object: l.What, Owner: l.Network, Detail: l.String(), Remedy: remedyLate})
	}
	all = append(append(all, differences...), a.holds.listStrays()...)
	all = append(append(all, a.plugs.findings()...), a.lostLeases()...)
	beside, err := a.lanDevices.extraDevices()
	if err != nil {
		return nil, err
	}
	return append(append(all, beside...), a.unsettled()...), nil
}

// differences lists our objects on the host that no plan wants, and wanted objects that are
// missing, on the host and in containers.
func (a *Agent) differences() ([]heddle.Finding, error) {
	left, err := a.plans.leftovers()
	if err != nil {
		return nil, err
	}
	var all []heddle.Finding
	for _, k := range left {
		all = append(all, heddle.Finding{Kind: "leftover", Object: k, Remedy: remedyGC})
	}
	drift, err := a.kernel.Diff(heddle.Plan{Host: a.plans.union(a.unsettled()...)}, nil)
	if err != nil {
		return nil, err
	}
	all = append(all, findings("", remedyRepair, drift)...)
	inside, err := checkEach(a.records.filter(notPending), func(r record) ([]heddle.Finding, error) {
		found, gone, err := a.checkInside(r)
		if gone {
			return nil, err // unsettled lists those
		}
		return found, err
	})
	return append(all, inside...), err
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
			all = append(all, heddle.Finding{Kind: "quarantine", Object: op, Owner: owner, Detail: held[r.Endpoint.ID], Remedy: remedyQuarantine})
		case op != "":
			all = append(all, heddle.Finding{Kind: "pending", Object: op, Owner: owner, Remedy: remedyGC})
		case r.hasPod() && !a.containers.podAlive(r):
			all = append(all, r.gone())
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
	unplugged, out := a.plugs.collect(ctx)
	removed, errs = append(removed, unplugged...), append(errs, out)
	pruned, ofNICs, err := a.prune()
	if err == nil {
		err = a.ledger.setUnclaimed(false)
	}
	return append(removed, pruned...), errors.Join(append(errs, ofNICs, err)...)
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
