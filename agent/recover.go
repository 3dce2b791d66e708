package agent

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// recover reads the record, undoes what was in the middle, makes whole what is
// recorded as made, and prunes what nobody wants. Traffic of endpoints that are
// whole is not touched: applying a plan again changes nothing. All is read before
// anything is changed: a record that cannot be read leaves all as it is.
func (a *Agent) recover() error {
	was, err := a.ledger.all()
	if err != nil {
		return err
	}
	if err := allKnown(was); err != nil {
		return err
	}
	modes := make([]heddle.Mode, len(was.networks))
	for i, n := range was.networks {
		if modes[i], err = a.mode(n.Mode); err != nil {
			return err
		}
	}
	a.leases, a.subnets = was.leases, was.pools
	if err := a.loadFabric(was); err != nil {
		return err
	}
	for i, n := range was.networks {
		a.replay(n, modes[i], was.books[n.ID])
	}
	for i, r := range was.endpoints {
		was.endpoints[i] = a.upToDate(r)
		a.remember(was.endpoints[i], undoable(was.intents[r.Endpoint.ID.String()]))
	}
	for _, r := range was.endpoints {
		if err := a.settleRecord(r, undoable(was.intents[r.Endpoint.ID.String()])); err != nil {
			return err
		}
	}
	// nobody has what was freed since the host started, but an agent that was killed
	// may not have come to forget its connections
	for _, b := range was.books {
		a.forgetAddresses(slices.Collect(maps.Keys(b.freed))...)
	}
	if a.opt.Cluster != nil {
		a.returnUnused()
	}
	a.noticeHandovers(0)
	// one comparison of the whole host finds what has to be repaired
	for _, repaired := range a.reconcile() {
		<-repaired
	}
	a.settleDefaults(was.intents)
	removed, err := a.prune(was.unclaimed)
	if err != nil {
		return err
	}
	if err := a.ledger.forgetPlans(a.networkIDs()); err != nil {
		return err
	}
	if len(removed) > 0 {
		a.log.Info("removed what nobody wants", "objects", removed)
	}
	if len(a.networks) == 0 {
		// another firewall that does not answer must not keep the agent away
		if err := a.coexist.Withdraw(); err != nil {
			a.log.Error("rules in other firewalls not withdrawn", "error", err)
		}
	}
	return nil
}

// undoable is the intent of an operation that is undone after a crash, "" of one
// that is ended.
func undoable(intent string) string {
	if intent == intentDefault {
		return ""
	}
	return intent
}

func (a *Agent) networkIDs() map[string]bool {
	ids := map[string]bool{}
	for _, n := range a.Networks() {
		ids[n.ID] = true
	}
	return ids
}

// allKnown refuses a state folder that does not know the networks of endpoints
// that are made: it is not the one they were made with, and going on would take
// their networks for leftovers.
func allKnown(was recorded) error {
	for _, r := range was.endpoints {
		known := func(n heddle.Network) bool { return n.ID == r.Endpoint.Network }
		if !slices.ContainsFunc(was.networks, known) {
			return heddle.Errorf(heddle.LedgerBroken, "network "+r.Endpoint.NetworkName+" of endpoint", r.Endpoint.ID.String(),
				"restore the state folder's heddle.db from a copy; without one, move the run folder's ledger.db away as well; nothing was changed")
		}
	}
	return nil
}

// prune removes what nobody wants, unless the records of living endpoints are
// lost, as is known already or is found now.
func (a *Agent) prune(unclaimed bool) (removed []string, err error) {
	if a.ledger.fresh && !unclaimed {
		if unclaimed, err = a.hasPorts(); err != nil {
			return nil, err
		}
		if unclaimed {
			if err := a.ledger.setUnclaimed(true); err != nil {
				return nil, err
			}
		}
	}
	if unclaimed {
		a.log.Warn("endpoints without a record are left alone; 'heddle audit' shows them, 'heddle gc' removes them")
		return nil, nil
	}
	swept, err := a.sweep()
	if err != nil { // one NIC must not keep the agent away
		a.log.Error("what is left of NICs is not all removed", "error", err)
	}
	pruned, err := a.kernel.Prune(a.isWanted)
	return append(swept, pruned...), err
}

// hasPorts reports whether the kernel has a container's link of ours, or a way to
// one.
func (a *Agent) hasPorts() (bool, error) {
	owned, err := a.kernel.Ours()
	if len(a.strayHolds()) > 0 {
		return true, err
	}
	port := func(l heddle.Link) bool { return strings.HasPrefix(l.Name, heddle.PrefixPort) }
	beside := func(r heddle.Route) bool {
		return strings.HasPrefix(r.Link, heddle.PrefixShim) || strings.HasPrefix(r.Link, heddle.PrefixSlave)
	}
	return slices.ContainsFunc(owned.State.Links, port) || slices.ContainsFunc(owned.State.Routes, beside), err
}

// replay restores a network, its addresses and its plan. The plan is computed anew,
// since the host may have changed; one that cannot be made (its parent is gone)
// is reported and does not keep the agent from starting.
func (a *Agent) replay(recorded heddle.Network, mode heddle.Mode, was book) {
	n := &network{Network: recorded, mode: mode}
	n.equip()
	if n.Shared {
		a.pools.Lock()
		a.fitLocked(n, a.opt.Cluster.View())
		a.pools.Unlock()
	}
	n.pool.SetCursor(was.cursors)
	for address, since := range was.freed {
		n.pool.RestoreQuarantine(address, since)
	}
	plan, err := n.mode.Network(a.host(), n.Network)
	if err != nil {
		a.log.Error("network cannot be planned now", "network", n.Name, "error", err)
		if was.plan != nil {
			plan = *was.plan
		} else {
			n.unplanned = err // the patrol tries again; until then nobody attaches
		}
	}
	n.plan = plan
	a.wanted.add(plan.Host)
	if err := a.ledger.putPlan(n.ID, plan); err != nil {
		// a full disk must not keep the agent from coming back
		a.log.Warn("plan not recorded", "network", n.Name, "error", err)
	}
	if _, err := a.kernel.Apply(plan, nil); err != nil {
		a.log.Error("network cannot be made", "network", n.Name, "error", err)
	}
	a.fitLeases(n)
	a.networks[n.Name] = n
}

// settleRecord undoes an endpoint with an open intent: an attach that nobody
// got an answer to, or a detach that has begun. Others get back what they hold.
func (a *Agent) settleRecord(r record, intent string) error {
	n, err := a.networkFor(r.Endpoint)
	if err != nil {
		return err
	}
	if intent != "" {
		a.log.Info("undoing an operation cut off", "operation", intent, "endpoint", r.Endpoint.ID)
		if err := a.undo(r); err != nil {
			// it keeps its record and intent; gc tries again
			a.log.Error("an operation cut off is not undone", "operation", intent, "endpoint", r.Endpoint.ID, "error", err)
			return a.restore(n, r.Endpoint)
		}
		for _, addr := range r.Endpoint.Addrs {
			n.pool.RestoreQuarantine(addr.Addr(), time.Now())
		}
		a.erase(r)
		a.forgetEndpoint(r.Endpoint)
		return a.ledger.drop(r.Endpoint, time.Now())
	}
	return a.restore(n, r.Endpoint)
}

// repair applies a recorded plan again if the container is still there.
func (a *Agent) repair(r record) (made []string, err error) {
	if r.Endpoint.Handover {
		return a.repairHandover(r)
	}
	if len(r.Plan.Pod.Links) == 0 || r.Endpoint.NIC != nil {
		return nil, nil // of a NIC, nothing is on the host
	}
	pod, err := kernel.OpenNetns(r.Endpoint.Netns)
	if err != nil {
		return nil, nil
	}
	defer pod.Close()
	if a.kernel.IsOwn(pod) || !r.isPodOf(pod) {
		return nil, nil
	}
	return a.applyAgain(r, pod)
}

// applyAgain puts back what is missing of an endpoint and its container's end.
func (a *Agent) applyAgain(r record, pod *kernel.Netns) (made []string, err error) {
	defer a.sharing(r)()
	if made, err = a.kernel.Apply(r.Plan, pod); err == nil {
		err = a.noteDevice(r.Endpoint.ID, pod)
	}
	return made, err
}

// union is the host's wanted state: all networks' and endpoints' plans, without
// those of the endpoints that the findings name as owners.
func (a *Agent) union(without ...heddle.Finding) heddle.State {
	skip := map[string]bool{}
	for _, f := range without {
		skip[f.Owner] = true
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	var u unionBuilder
	u.add(a.reach.Host)
	for _, n := range a.networks {
		u.add(n.plan.Host)
	}
	for id, r := range a.endpoints {
		if !skip[id.String()] {
			u.add(r.Plan.Host)
		}
	}
	return u.state
}

// unionBuilder adds states up without comparing: where two plans want one
// object, they want it the same way, since conflicts were refused before.
type unionBuilder struct {
	state heddle.State
	seen  map[string]bool
}

func (u *unionBuilder) add(s heddle.State) {
	if u.seen == nil {
		u.seen = map[string]bool{}
	}
	more := s.Filter(func(o heddle.Object) bool {
		known := u.seen[o.Key()]
		u.seen[o.Key()] = true
		return !known
	})
	u.state = heddle.Append(u.state, more)
}
