package agent

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/kernel"
)

// followLease brings an endpoint in line with its lease, in the background.
func (a *Agent) followLease(id heddle.EndpointID) {
	a.repairJobs.start("lease "+id.String(), work{what: "follow the DHCP lease", endpoint: id.String()}, func(t *task) {
		t.waitFor("the kernel")
		if err := a.applyLease(id); err != nil {
			a.log.Error("a DHCP lease is not followed; it is tried again", "endpoint", id, "error", err)
		}
	})
}

// followIfChanged is followLease for an endpoint that is not as its lease says, or may not be.
func (a *Agent) followIfChanged(r record) {
	l, known := a.dhcp.lease(r.Endpoint.ID)
	if known && (!r.grants(l) || a.dhcp.isUnsure(r.Endpoint.ID)) {
		a.followLease(r.Endpoint.ID)
	}
}

// followLeases does this for all endpoints: what failed is tried again.
func (a *Agent) followLeases() {
	for _, r := range a.records.filter(func(r record, op string) bool { return r.Endpoint.DHCP != nil && op == "" }) {
		a.followIfChanged(r)
	}
}

// grants reports whether the record has what the lease grants.
func (r record) grants(l heddle.DHCPLease) bool {
	return r.Endpoint.DHCP != nil && r.Endpoint.DHCP.SameGrant(l)
}

// applyLease brings an endpoint's container and record in line with its lease. What ends is taken away
// before it is recorded, and what begins is recorded before it is made. So an agent that is killed in
// between finds it in the record, and does it again.
func (a *Agent) applyLease(id heddle.EndpointID) error {
	defer a.endpointLocks.Lock(id)()
	old, op, known := a.records.withOperation(id)
	lease, kept := a.dhcp.lease(id)
	if !known || !kept || op != "" || old.grants(lease) && !a.dhcp.isUnsure(id) {
		return nil
	}
	defer a.activity.begin()()
	n, err := a.networks.ofEndpoint(old.Endpoint)
	if err != nil {
		return err
	}
	next := old
	next.Endpoint = old.Endpoint.WithDHCP(lease)
	if next.Plan, err = n.planFor(a.host.now(), next.Endpoint); err != nil {
		return err
	}
	pod, err := a.containers.openPod(old)
	if err != nil {
		return err
	}
	if pod != nil {
		defer pod.Close()
		if err := checkConflict(next.Endpoint, next.Plan, a.records.inContainer(pod)); err != nil {
			return err
		}
	}
	a.dhcp.setUnsure(id, true)
	a.wanted.replaceRecord(old, next)
	if err = a.takeOff(old, next, pod); err == nil {
		err = a.recordLease(next)
	}
	if err != nil {
		a.wanted.replaceRecord(next, old)
		return err
	}
	if pod != nil { // the container has not ended
		if _, err := a.handovers.reapply(next, pod); err != nil {
			return err
		}
	}
	a.dhcp.setUnsure(id, false)
	if !slices.Equal(old.Endpoint.Addrs, next.Endpoint.Addrs) {
		a.log.Warn("the address of an endpoint has changed with its DHCP lease", "endpoint", id, "was", old.Endpoint.Addrs,
			"is", next.Endpoint.Addrs, "why", cmp.Or(lease.Trouble, "granted by server "+lease.Server.String()))
		a.flows.forgetFlows(old.Endpoint, next.Endpoint)
		a.networks.endpointEvent(events.Updated, next.Endpoint)
		a.lanDevices.announce(next.Endpoint, pod)
	}
	return nil
}

// takeOff removes what an endpoint has, and has no more, or otherwise, in its next plan.
func (a *Agent) takeOff(old, next record, pod kernel.Pod) error {
	// seen from the next plan, it is what the old one adds
	onHost, _ := heddle.Delta(next.Plan.Host, old.Plan.Host)
	inPod, _ := heddle.Delta(next.Plan.Pod, old.Plan.Pod)
	if onHost.Empty() && inPod.Empty() {
		return nil
	}
	if err := a.trip.step("take address off"); err != nil {
		return err
	}
	defer a.linkLocks.lockShared(old)()
	return a.kernel.Remove(heddle.Plan{Host: onHost, Pod: inPod}, pod, a.wanted.has)
}

// recordLease records what an endpoint's lease grants now.
func (a *Agent) recordLease(next record) error {
	if err := a.trip.step("ledger lease"); err != nil {
		return err
	}
	if err := a.ledger.putRecord(next); err != nil {
		return err
	}
	a.records.put(next)
	return nil
}

// lostLeases finds endpoints that have no address, because nobody renewed the lease or gives another.
func (a *Agent) lostLeases() (all []heddle.Finding) {
	for _, r := range a.records.filter(func(r record, op string) bool { return r.Endpoint.DHCP != nil && op == "" }) {
		e := a.dhcp.shown(r.Endpoint)
		if e.DHCP.Held {
			continue
		}
		all = append(all, heddle.Finding{Kind: "lease", Object: "address of " + e.Interface(), Owner: e.ID.String(),
			Detail: fmt.Sprintf("the container has no address: %s", cmp.Or(e.DHCP.Trouble, "no DHCP server answers")), Remedy: remedyLease})
	}
	slices.SortFunc(all, func(x, y heddle.Finding) int { return cmp.Compare(x.Owner, y.Owner) })
	return all
}
