package agent

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/kernel"
)

// followLease brings an endpoint in line with its lease, in the background.
func (a *Agent) followLease(id heddle.EndpointID) {
	a.repairJobs.start("lease "+id.String(), work{what: "follow the DHCP lease", endpoint: id.String()}, func(t *task) {
		before, op, known := a.records.withOperation(id)
		if !known || op != "" {
			return // its attach looks when it is done
		}
		t.waitFor("the kernel")
		err := a.applyLease(id)
		if now, known := a.records.get(id); known && (len(before.Endpoint.Addrs) != len(now.Endpoint.Addrs) || !slices.Equal(routersOf(before), routersOf(now))) {
			a.defaults.pass(now.Inode) // another endpoint may carry the default route meanwhile
		}
		if a.dhcp.note(id, err) {
			a.log.Warn("a DHCP lease is not followed; it is tried again", "endpoint", id, "error", err)
		}
	})
}

// routersOf are the routers that an endpoint's lease names: with none it cannot carry the default route.
func routersOf(r record) []netip.Addr {
	l := cmp.Or(r.Endpoint.DHCP, &heddle.DHCPLease{})
	six := cmp.Or(l.IPv6, &heddle.LANIPv6{})
	return []netip.Addr{l.Router, six.Router}
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
	unsure := a.dhcp.isUnsure(id)
	if !known || !kept || op != "" || old.grants(lease) && !unsure {
		return nil
	}
	if old.offered() || a.dhcp.leftToEngine(id) {
		return nil // until its engine has made it what it was told, and that can be changed; then the patrol does it
	}
	defer a.activity.begin()()
	pod, err := a.containers.openPod(old)
	if err != nil {
		return err
	}
	if pod != nil {
		defer pod.Close()
	}
	next, conflict := a.withLease(old, lease, pod)
	if conflict != nil { // the old addresses are not the container's any more
		lease.Held, lease.IPv6 = false, nil
		if next, err = a.withLease(old, lease, pod); err != nil {
			return err
		}
		if old.grants(lease) && !unsure {
			return conflict // as it was when this was tried before
		}
	}
	add, gone := planDelta(old.Plan, next.Plan)
	a.dhcp.setUnsure(id, true)
	a.wanted.replaceRecord(old, next)
	if err = a.takeOff(old, gone, pod); err == nil {
		err = a.recordLease(next)
	}
	if err != nil {
		a.wanted.replaceRecord(next, old)
		return err
	}
	var made []string
	if pod != nil && (unsure || !add.Host.Empty() || !add.Pod.Empty()) {
		if made, err = a.handovers.reapply(next, pod); err != nil {
			return err
		}
	}
	a.dhcp.setUnsure(id, false)
	if a.tellOfAddress(old, next); len(made) > 0 { // or an agent that was killed had not told the LAN
		a.lanDevices.announce(next.Endpoint, pod)
	}
	return conflict
}

// withLease is an endpoint's record with a lease. It refuses a lease that conflicts with other endpoints
// of the container.
func (a *Agent) withLease(r record, lease heddle.DHCPLease, pod kernel.Pod) (record, error) {
	n, err := a.networks.ofEndpoint(r.Endpoint)
	if err != nil {
		return r, err
	}
	was := r.Endpoint.Addrs
	r.Endpoint = r.Endpoint.WithDHCP(lease)
	r.Endpoint.OwnRoutes = r.Endpoint.OwnRoutes || r.Endpoint.Handover && !slices.Equal(was, r.Endpoint.Addrs)
	plan, err := n.planFor(a.host.now(), r.Endpoint)
	if err != nil && !lease.Held { // such as of a parent that was renamed
		r.Plan = withoutAddress(r.Plan)
		return r, nil
	}
	if r.Plan = plan; err != nil {
		return r, err
	}
	return r, checkConflict(r.Endpoint, r.Plan, a.records.inContainer(pod))
}

// withoutAddress is a plan without the endpoint's address, and what depends on it.
func withoutAddress(p heddle.Plan) heddle.Plan {
	p.Pod.Addresses, p.Pod.Neighbours, p.Pod.Routes = nil, nil, nil
	p.Host.Neighbours, p.Host.Routes = nil, nil
	return p
}

// planDelta is what one plan has more, or otherwise, than the one before, and that one than it. In the
// container it is addresses, and what depends on them.
func planDelta(old, next heddle.Plan) (add, gone heddle.Plan) {
	add.Host, _ = heddle.Delta(old.Host, next.Host)
	gone.Host, _ = heddle.Delta(next.Host, old.Host)
	was, is := onAddress(old.Pod), onAddress(next.Pod)
	add.Pod, _ = heddle.Delta(was, is)
	gone.Pod, _ = heddle.Delta(is, was)
	return add, gone
}

func onAddress(s heddle.State) heddle.State {
	return heddle.State{Addresses: s.Addresses, Neighbours: s.Neighbours, Routes: s.Routes}
}

// takeOff removes what an endpoint has no more.
func (a *Agent) takeOff(r record, gone heddle.Plan, pod kernel.Pod) error {
	if gone.Host.Empty() && gone.Pod.Empty() {
		return nil
	}
	if err := a.trip.step("take address off"); err != nil {
		return err
	}
	defer a.linkLocks.lockShared(r)()
	return a.kernel.Remove(gone, pod, a.wanted.has)
}

// tellOfAddress tells of an address that has come or gone: the log, and those who watch events.
func (a *Agent) tellOfAddress(old, next record) {
	if slices.Equal(old.Endpoint.Addrs, next.Endpoint.Addrs) {
		return
	}
	l := next.Endpoint.DHCP
	a.log.Warn("the address of an endpoint has changed with its DHCP lease", "endpoint", next.Endpoint.ID, "was", old.Endpoint.Addrs,
		"is", next.Endpoint.Addrs, "why", cmp.Or(l.Trouble, "granted by server "+l.Server.String()))
	a.flows.forgetFlows(old.Endpoint, next.Endpoint)
	a.policiesSoon()
	a.networks.endpointEvent(events.Updated, next.Endpoint)
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

// lostLeases finds endpoints that have no address, because nobody renewed the lease or gives another, and those that cannot be brought
// in line with their leases.
func (a *Agent) lostLeases() (all []heddle.Finding) {
	for _, r := range a.records.filter(func(r record, op string) bool { return r.Endpoint.DHCP != nil && op == "" }) {
		e := a.dhcp.shown(r.Endpoint)
		failed, has := a.dhcp.whyNot(e.ID), "no address"
		leased := len(e.Addrs) > 0 && e.Addrs[0].Addr().Is4() // whether it has IPv6 ones is the LAN's matter
		switch {
		case leased && failed == "":
			continue
		case leased && !e.DHCP.Held:
			has = e.Addrs[0].String() + ", which is not leased any more"
		case leased:
			has = e.Addrs[0].String() + ", and " + e.DHCP.Address.String() + " is leased"
		case len(e.Addrs) > 0:
			has = "no IPv4 address"
		}
		all = append(all, heddle.Finding{Kind: "lease", Object: "address of " + e.Interface(), Owner: e.ID.String(),
			Detail: fmt.Sprintf("the container has %s: %s", has, cmp.Or(failed, e.DHCP.Trouble, "no DHCP server answers")), Remedy: remedyLease})
	}
	slices.SortFunc(all, func(x, y heddle.Finding) int { return cmp.Compare(x.Owner, y.Owner) })
	return all
}

// leaselessNow says for the status what lostLeases finds.
func (a *Agent) leaselessNow() (all []string) {
	for _, f := range a.lostLeases() {
		all = append(all, f.Owner+": "+f.Detail)
	}
	return all
}
