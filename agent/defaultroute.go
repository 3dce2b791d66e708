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

// canCarry reports whether a default route can lead through the network; through
// a NIC that keeps its own addresses, if it had one.
func canCarry(n *network, nic *heddle.NIC) bool {
	if nic != nil && !n.pool.Gives() {
		return nic.HasDefault()
	}
	return !n.Internal && len(n.Gateways) > 0
}

// checkDefault refuses the wish for a default route that the network cannot carry.
func checkDefault(n *network, req heddle.AttachRequest, nic *heddle.NIC) error {
	if req.DefaultRoute != nil && *req.DefaultRoute && !canCarry(n, nic) {
		why := "the network is internal or has no gateway"
		if nic != nil && !n.pool.Gives() {
			why = "the NIC " + nic.Name + " had no default route"
		}
		return heddle.Errorf(heddle.BadOption, "endpoint "+req.ID.String()+": default route", "through network "+n.Name, why+"; leave --default-route out")
	}
	return nil
}

// claimDefault reports whether the endpoint begins with the default route: if
// nobody in the container has it yet. The caller holds mu.
func (a *Agent) claimDefault(n *network, req heddle.AttachRequest, pod *kernel.Netns, nic *heddle.NIC) bool {
	if !canCarry(n, nic) || req.DefaultRoute != nil && !*req.DefaultRoute {
		return false
	}
	if pod == nil {
		return true // its engine knows the container's other networks
	}
	if _, held := a.defaults[pod.Inode()]; held {
		return false
	}
	a.defaults[pod.Inode()] = req.ID
	return true
}

// wantsDefault reports whether an endpoint asks for the default route and does
// not have it, or has it and asks not to.
func wantsDefault(req heddle.AttachRequest, e heddle.Endpoint) (change, on bool) {
	if req.DefaultRoute == nil {
		return false, e.DefaultRoute
	}
	return *req.DefaultRoute != e.DefaultRoute, *req.DefaultRoute
}

// passDefault gives the container's default route to the oldest endpoint that
// can carry it, if no other has it.
func (a *Agent) passDefault(inode uint64) {
	defer a.pods.Lock(inode)()
	a.settleDefault(inode, heddle.EndpointID{})
}

// settleDefault leaves a container with one default route: that of the endpoint
// whose record has it, or else of the oldest that can. Nothing can be done for a
// container that is gone; what fails is told, and tried again when the agent
// starts. The caller holds the container's lock, and that of the endpoint held.
func (a *Agent) settleDefault(inode uint64, held heddle.EndpointID) {
	pod := a.openInode(inode)
	if pod == nil {
		return
	}
	defer pod.Close()
	to := heddle.EndpointID{}
	for i, r := range a.heirs(pod) {
		if i == 0 || r.Endpoint.DefaultRoute {
			to = r.Endpoint.ID
		}
	}
	if err := a.arrange(pod, to, held); err != nil {
		a.log.Error("default route not settled", "endpoint", to, "error", err)
	}
}

// openInode opens a container's namespace by the way into it of any endpoint
// there; nil if the container is gone.
func (a *Agent) openInode(inode uint64) *kernel.Netns {
	a.mu.RLock()
	var all []record
	for id := range a.inPods[inode] {
		all = append(all, a.endpoints[id])
	}
	a.mu.RUnlock()
	for _, r := range all {
		pod, err := a.podOf(r)
		if err != nil {
			a.log.Error("a container's namespace is not found", "endpoint", r.Endpoint.ID, "error", err)
		}
		if pod != nil && pod.Inode() == inode {
			return pod
		}
		if pod != nil {
			pod.Close()
		}
	}
	return nil
}

// heirs are the container's endpoints that may carry its default route, the
// oldest first.
func (a *Agent) heirs(pod *kernel.Netns) []record {
	all := a.container(pod)
	a.mu.RLock()
	all = slices.DeleteFunc(all, func(r record) bool { return !a.mayCarry(r) || a.pending[r.Endpoint.ID] != "" })
	a.mu.RUnlock()
	slices.SortFunc(all, func(x, y record) int { return x.Endpoint.Created.Compare(y.Endpoint.Created) })
	return all
}

// mayCarry reports whether a default route can lead through the endpoint, and it
// did not refuse it. The caller holds mu.
func (a *Agent) mayCarry(r record) bool {
	n := a.networkHeld(r.Endpoint.Network)
	return n != nil && canCarry(n, r.Endpoint.NIC) && (r.Request.DefaultRoute == nil || *r.Request.DefaultRoute)
}

// arrange gives the container's default route to one endpoint and takes it from
// all others; with no endpoint given, it is only taken. The caller holds the
// container's lock, and that of the endpoint held (if any).
func (a *Agent) arrange(pod *kernel.Netns, to, held heddle.EndpointID) error {
	for _, id := range a.endpointsIn(pod) {
		if id != to {
			if err := a.setDefault(id, false, pod, held); err != nil {
				return err
			}
		}
	}
	if to == (heddle.EndpointID{}) {
		return nil
	}
	return a.setDefault(to, true, pod, held)
}

func (a *Agent) endpointsIn(pod *kernel.Netns) []heddle.EndpointID {
	var all []heddle.EndpointID
	for _, r := range a.container(pod) {
		all = append(all, r.Endpoint.ID)
	}
	slices.SortFunc(all, func(x, y heddle.EndpointID) int { return cmp.Compare(x.String(), y.String()) })
	return all
}

// setDefault records that an endpoint has the default route, or has not, and
// makes it so. It may be repeated: what is there already is left.
func (a *Agent) setDefault(id heddle.EndpointID, on bool, pod *kernel.Netns, held heddle.EndpointID) error {
	if id != held {
		defer a.ids.Lock(id)()
	}
	r, there := a.lookup(id)
	if !there || a.pendingOf(id) == intentDetach {
		return nil
	}
	n, err := a.networkFor(r.Endpoint)
	if err != nil {
		return err
	}
	next := r
	next.Endpoint.DefaultRoute = on
	with, without, err := a.defaultRoutes(n, r)
	if err != nil {
		return err
	}
	next.Plan.Pod.Routes = without
	if on {
		next.Plan.Pod.Routes = with
	}
	if err := a.step("ledger default route"); err != nil {
		return err
	}
	if err := a.recordDefault(next); err != nil {
		return err
	}
	a.mu.Lock()
	a.endpoints[id] = next
	if on {
		a.defaults[pod.Inode()] = id
	} else if a.defaults[pod.Inode()] == id {
		delete(a.defaults, pod.Inode())
	}
	a.mu.Unlock()
	if err := a.makeDefault(on, with, without, pod); err != nil || a.pendingOf(id) != "" {
		return err
	}
	if err := a.ledger.settle(id); err != nil {
		return err
	}
	a.tellEndpoint(events.Updated, next.Endpoint)
	return nil
}

// recordDefault writes what is about to be so. An attach that is under way has
// an intent of its own, and is undone as a whole.
func (a *Agent) recordDefault(next record) error {
	if a.pendingOf(next.Endpoint.ID) != "" {
		return a.ledger.putRecord(next)
	}
	return a.ledger.putIntent(next, intentDefault)
}

func (a *Agent) makeDefault(on bool, with, without []heddle.Route, pod *kernel.Netns) error {
	if on {
		_, err := a.kernel.Apply(heddle.Plan{Pod: heddle.State{Routes: with}}, pod)
		return err
	}
	gone := heddle.State{Routes: with}.Filter(func(o heddle.Object) bool {
		return !slices.ContainsFunc(without, func(r heddle.Route) bool { return r.Key() == o.Key() })
	})
	return a.kernel.Remove(heddle.Plan{Pod: gone}, pod, nil)
}

// defaultRoutes are the endpoint's routes in the container, with and without the
// default route through it.
func (a *Agent) defaultRoutes(n *network, r record) (with, without []heddle.Route, err error) {
	e := r.Endpoint
	e.DefaultRoute = true
	on, err := n.mode.Endpoint(a.host(), n.Network, e)
	if err != nil {
		return nil, nil, err
	}
	e.DefaultRoute = false
	off, err := n.mode.Endpoint(a.host(), n.Network, e)
	return on.Pod.Routes, off.Pod.Routes, err
}

// settleDefaults ends, at start, what a change of a default route had begun. A
// container whose only endpoint has it, as no intent doubts, needs no look.
func (a *Agent) settleDefaults(intents map[string]string) {
	a.mu.RLock()
	var unclear []uint64
	for inode, ids := range a.inPods {
		doubtful := len(ids) > 1
		for id := range ids {
			doubtful = doubtful || intents[id.String()] == intentDefault || a.defaults[inode] != id && a.mayCarry(a.endpoints[id])
		}
		if doubtful {
			unclear = append(unclear, inode)
		}
	}
	a.mu.RUnlock()
	for _, inode := range unclear {
		a.passDefault(inode)
	}
}

// changeDefault moves the default route to an endpoint that is there already, or
// from it to another, if the request says so. The caller holds the locks of both
// container and endpoint.
func (a *Agent) changeDefault(n *network, old record, req heddle.AttachRequest, pod *kernel.Netns) (record, error) {
	change, on := wantsDefault(req, old.Endpoint)
	if err := checkDefault(n, req, old.Endpoint.NIC); err != nil || !change {
		return old, err
	}
	id := old.Endpoint.ID
	old.Request.DefaultRoute = req.DefaultRoute
	if err := a.ledger.putRecord(old); err != nil {
		return old, err
	}
	a.mu.Lock()
	a.endpoints[id] = old
	a.mu.Unlock()
	to := id
	if !on {
		to = heddle.EndpointID{}
		if heirs := a.heirs(pod); len(heirs) > 0 {
			to = heirs[0].Endpoint.ID
		}
	}
	err := a.arrange(pod, to, id)
	now, _ := a.lookup(id)
	return now, err
}
