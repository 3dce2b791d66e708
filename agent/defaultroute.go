package agent

import (
	"cmp"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/kernel"
)

// Which of a container's networks carries its default route is chosen: the first
// one that can, unless the request says otherwise. It moves to an endpoint that
// is attached with --default-route, and on to the oldest one left when its
// holder is detached.

// canCarryDefault reports whether a default route can lead through the network. A NIC that keeps
// its own addresses can carry one if it had one before.
func canCarryDefault(n *network, nic *heddle.NIC) bool {
	if nic != nil && !n.pool.Gives() {
		return nic.HasDefault()
	}
	return !n.Internal && len(n.Gateways) > 0
}

// checkDefault refuses the wish for a default route that the network cannot carry.
func checkDefault(n *network, req heddle.AttachRequest, nic *heddle.NIC) error {
	if req.DefaultRoute != nil && *req.DefaultRoute && !canCarryDefault(n, nic) {
		why := "the network is internal or has no gateway"
		if nic != nil && !n.pool.Gives() {
			why = "the NIC " + nic.Name + " had no default route"
		}
		return heddle.Errorf(heddle.BadOption, "give the default route to endpoint",
			req.ID.String()+" on network "+n.Name, why, "leave --default-route out")
	}
	return nil
}

// claimFor reports whether the endpoint begins with the default route: if
// nobody in the container has it yet.
func (d *defaults) claimFor(n *network, req heddle.AttachRequest, pod kernel.Pod, nic *heddle.NIC) bool {
	if !canCarryDefault(n, nic) || req.DefaultRoute != nil && !*req.DefaultRoute {
		return false
	}
	if pod == nil {
		return true // its engine knows the container's other networks
	}
	return d.claim(pod.Inode(), req.ID)
}

// wantsDefault reports whether the request changes who has the default route (change), and
// whether the endpoint is to have it (on).
func wantsDefault(req heddle.AttachRequest, e heddle.Endpoint) (change, on bool) {
	if req.DefaultRoute == nil {
		return false, e.DefaultRoute
	}
	return *req.DefaultRoute != e.DefaultRoute, *req.DefaultRoute
}

// pass gives the container's default route to the oldest endpoint that
// can carry it, if no other has it.
func (d *defaults) pass(inode uint64) {
	defer d.podLocks.Lock(inode)()
	d.settle(inode, heddle.EndpointID{})
}

// settle leaves a container with one default route: that of the endpoint whose record has
// it, or else of the oldest endpoint that can carry it. It does nothing for a container
// that is gone. If it fails, the status tells it and the patrol tries again. The lock of the
// endpoint held (if any) is held.
func (d *defaults) settle(inode uint64, held heddle.EndpointID) {
	d.podLocks.mustHold(inode)
	pod := d.containers.openInode(inode)
	if pod == nil {
		d.note(inode, "", nil)
		return
	}
	defer pod.Close()
	container, to := "", heddle.EndpointID{}
	for _, id := range d.endpointsIn(pod) {
		container = id.Container
	}
	heirs := d.heirs(pod)
	for i, r := range heirs {
		if i == 0 || r.Endpoint.DefaultRoute {
			to = r.Endpoint.ID
		}
	}
	if len(heirs) == 0 && d.awaitsLease(pod) {
		d.note(inode, container, nil) // it comes back with the lease
		return
	}
	d.note(inode, container, d.arrange(pod, to, held))
}

// heirs are the container's endpoints that may carry its default route, the
// oldest first.
func (d *defaults) heirs(pod kernel.Pod) []record {
	all := slices.DeleteFunc(d.records.inContainer(pod), func(r record) bool { return !d.mayCarry(r) || d.records.pendingOf(r.Endpoint.ID) != "" })
	slices.SortFunc(all, func(x, y record) int { return x.Endpoint.Created.Compare(y.Endpoint.Created) })
	return all
}

// mayCarry reports whether a default route can lead through the endpoint and its request
// does not refuse one.
func (d *defaults) mayCarry(r record) bool {
	n := d.networks.byID(r.Endpoint.Network)
	return n != nil && canCarryDefault(n.leasedTo(r.Endpoint), r.Endpoint.NIC) && (r.Request.DefaultRoute == nil || *r.Request.DefaultRoute)
}

// awaitsLease reports whether the default route leads through an endpoint that has no DHCP lease now.
func (d *defaults) awaitsLease(pod kernel.Pod) bool {
	return slices.ContainsFunc(d.records.inContainer(pod), func(r record) bool {
		return r.Endpoint.DefaultRoute && r.Endpoint.DHCP != nil && !r.Endpoint.DHCP.Held && d.records.pendingOf(r.Endpoint.ID) == ""
	})
}

// arrange gives the container's default route to one endpoint and takes it from
// all others; with no endpoint given, it is only taken. The lock of the endpoint held (if any) is
// held.
func (d *defaults) arrange(pod kernel.Pod, to, held heddle.EndpointID) error {
	d.podLocks.mustHold(pod.Inode())
	for _, id := range d.endpointsIn(pod) {
		if id != to {
			if err := d.give(id, false, pod, held); err != nil {
				return err
			}
		}
	}
	if to == (heddle.EndpointID{}) {
		return nil
	}
	return d.give(to, true, pod, held)
}

func (d *defaults) endpointsIn(pod kernel.Pod) []heddle.EndpointID {
	var all []heddle.EndpointID
	for _, r := range d.records.inContainer(pod) {
		all = append(all, r.Endpoint.ID)
	}
	slices.SortFunc(all, func(x, y heddle.EndpointID) int { return cmp.Compare(x.String(), y.String()) })
	return all
}

// give records whether an endpoint has the default route, and makes it so in the kernel.
// It may be repeated: what is there already is left alone.
func (d *defaults) give(id heddle.EndpointID, on bool, pod kernel.Pod, held heddle.EndpointID) error {
	switch held {
	case id:
		d.endpointLocks.mustHold(id)
	case heddle.EndpointID{}:
		defer d.endpointLocks.Lock(id)()
	default:
		defer d.endpointLocks.LockAnother(id)()
	}
	r, there := d.records.get(id)
	if !there || d.records.pendingOf(id) == intentDetach {
		return nil
	}
	n, err := d.networks.ofEndpoint(r.Endpoint)
	if err != nil {
		return err
	}
	next := r
	next.Endpoint.DefaultRoute = on
	with, without, err := d.routes(n, r)
	if err != nil {
		return err
	}
	next.Plan.Pod.Routes = without
	if on {
		next.Plan.Pod.Routes = with
	}
	if err := d.trip.step("ledger default route"); err != nil {
		return err
	}
	if err := d.record(next); err != nil {
		return err
	}
	d.records.put(next)
	if on {
		d.set(pod.Inode(), id)
	} else {
		d.drop(pod.Inode(), id)
	}
	if err := d.make(on, with, without, pod); err != nil || d.records.pendingOf(id) != "" {
		return err
	}
	if err := d.ledger.clearIntent(id); err != nil {
		return err
	}
	d.networks.endpointEvent(events.Updated, next.Endpoint)
	return nil
}

// record writes the change before it is made. An attach under way already has an intent,
// and is undone as a whole.
func (d *defaults) record(next record) error {
	if d.records.pendingOf(next.Endpoint.ID) != "" {
		return d.ledger.putRecord(next)
	}
	return d.ledger.putIntent(next, intentDefault)
}

func (d *defaults) make(on bool, with, without []heddle.Route, pod kernel.Pod) error {
	if on {
		_, err := d.kernel.Apply(heddle.Plan{Pod: heddle.State{Routes: with}}, pod)
		return err
	}
	gone := heddle.State{Routes: with}.Filter(func(o heddle.Object) bool {
		return !slices.ContainsFunc(without, func(r heddle.Route) bool { return r.Key() == o.Key() })
	})
	return d.kernel.Remove(heddle.Plan{Pod: gone}, pod, nil)
}

// routes are the endpoint's routes in the container, with and without the
// default route through it.
func (d *defaults) routes(n *network, r record) (with, without []heddle.Route, err error) {
	e := r.Endpoint
	e.DefaultRoute = true
	on, err := n.mode.Endpoint(d.host.now(), n.Network, e)
	if err != nil {
		return nil, nil, err
	}
	e.DefaultRoute = false
	off, err := n.mode.Endpoint(d.host.now(), n.Network, e)
	return on.Pod.Routes, off.Pod.Routes, err
}

// settleAll finishes, at start, changes of default routes that were interrupted. It skips a
// container whose only endpoint has the default route and no open intent about it.
func (d *defaults) settleAll(intents map[string]string) {
	for _, inode := range d.records.inodes() {
		all := d.records.inNamespace(inode)
		holder, _ := d.of(inode)
		doubtful := len(all) > 1
		for _, r := range all {
			id := r.Endpoint.ID
			doubtful = doubtful || intents[id.String()] == intentDefault || holder != id && d.mayCarry(r)
		}
		if doubtful {
			d.pass(inode)
		}
	}
}

// change moves the default route to an existing endpoint, or from it to another, if the
// request says so.
func (d *defaults) change(n *network, old record, req heddle.AttachRequest, pod kernel.Pod) (record, error) {
	if pod == nil { // a network of mode host, or a virtual machine
		if change, _ := wantsDefault(req, old.Endpoint); change && old.Endpoint.TAP {
			return old, heddle.Errorf(heddle.EndpointDiffers, "attach endpoint", old.Endpoint.ID.String(), "a virtual machine has its default route itself",
				"leave --default-route out, or detach the endpoint first")
		}
		return old, checkDefault(n, req, old.Endpoint.NIC)
	}
	n = n.leasedTo(old.Endpoint)
	d.podLocks.mustHold(pod.Inode())
	d.endpointLocks.mustHold(old.Endpoint.ID)
	change, on := wantsDefault(req, old.Endpoint)
	if err := checkDefault(n, req, old.Endpoint.NIC); err != nil || !change {
		return old, err
	}
	id := old.Endpoint.ID
	old.Request.DefaultRoute = req.DefaultRoute
	if err := d.ledger.putRecord(old); err != nil {
		return old, err
	}
	d.records.put(old)
	to := id
	if !on {
		to = heddle.EndpointID{}
		if heirs := d.heirs(pod); len(heirs) > 0 {
			to = heirs[0].Endpoint.ID
		}
	}
	err := d.arrange(pod, to, id)
	d.note(pod.Inode(), id.Container, err)
	now, _ := d.records.get(id)
	return now, err
}
