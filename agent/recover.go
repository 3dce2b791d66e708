package agent

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// recover reads the ledger, undoes unfinished operations, and starts firstComparison. It does not
// disturb the traffic of complete endpoints: applying a plan again changes nothing. It reads
// everything before it changes anything: if a record cannot be read, nothing changes.
func (a *Agent) recover() error {
	was, err := a.ledger.all()
	if err != nil {
		return err
	}
	if err := checkNetworksKnown(was); err != nil {
		return err
	}
	modes := make([]heddle.Mode, len(was.networks))
	for i, n := range was.networks {
		if modes[i], err = a.modes.find(n.Mode); err != nil {
			return err
		}
	}
	a.reservations.leases, a.reservations.poolByID = was.leases, was.pools
	if err := a.loadFabric(was); err != nil {
		return err
	}
	for i, n := range was.networks {
		a.restoreNetwork(n, modes[i], was.networkStates[n.ID])
	}
	a.restoreHAVIPClaims(was.havips)
	if err := a.names.open(); err != nil {
		return err
	}
	inParallel(len(was.endpoints), func(i int) {
		r := was.endpoints[i]
		if a.opt.Resolver == "" {
			r = withoutAsks(r)
		}
		was.endpoints[i] = a.withGuard(a.upToDate(r), was.policies)
	})
	for i, r := range was.endpoints {
		a.records.add(was.endpoints[i], undoable(was.intents[r.Endpoint.ID.String()]))
	}
	for _, r := range was.endpoints {
		if err := a.restoreRecord(r, undoable(was.intents[r.Endpoint.ID.String()])); err != nil {
			return err
		}
	}
	// no endpoint has the addresses that were freed since the host booted, but an agent that was
	// killed may not have forgotten their connections
	for _, b := range was.networkStates {
		a.flows.forgetAddresses(slices.Collect(maps.Keys(b.freed))...)
	}
	a.havips.restore(was.havips, was.holders)
	a.policies.restore(was.policies) // which know the HAVIPs
	a.routes.restore(was.routes)
	if a.opt.Cluster != nil {
		a.blocks.returnUnused()
	}
	a.handovers.completeHandovers(0)
	if err := a.ledger.forgetPlans(a.networks.names()); err != nil {
		return err
	}
	if a.networks.none() {
		// another firewall that does not answer must not prevent the start
		if err := a.otherFirewalls.Withdraw(); err != nil {
			a.log.Error("rules in other firewalls not withdrawn", "error", err)
		}
	}
	unclaimed, err := a.hasUnclaimed(was.unclaimed)
	if err != nil {
		return err
	}
	a.otherFirewalls.open()
	a.compared = a.repairJobs.start("first comparison", work{what: "compare the host with its plans"}, func(t *task) {
		t.waitFor("the kernel")
		a.firstComparison(was.intents, unclaimed)
	})
	return nil
}

// firstComparison repairs what is recorded as made, and prunes what no plan wants, unless the
// records of endpoints in use are lost (unclaimed). With thousands of endpoints it takes seconds.
// The agent serves meanwhile: the patrol repairs, and GC prunes, at any time.
func (a *Agent) firstComparison(intents map[string]string, unclaimed bool) {
	// one comparison of the whole host finds everything that has to be repaired
	for _, repaired := range a.repairer.reconcile() {
		<-repaired
	}
	a.defaults.settleAll(intents)
	if unclaimed {
		a.log.Warn("endpoints without a record are left alone; 'heddle audit' shows them, 'heddle gc' removes them")
		return
	}
	a.pruneAtStart()
}

// pruneAtStart removes what no plan wants. If it fails, the patrol calls it again.
func (a *Agent) pruneAtStart() {
	removed, ofNICs, err := a.prune()
	if ofNICs != nil {
		a.log.Error("what is left of NICs is not all removed; 'heddle gc' tries again", "error", ofNICs)
	}
	if err != nil {
		a.log.Error("what nobody wants is not all removed; it is tried again", "error", err)
	}
	a.unpruned.Store(err != nil)
	if len(removed) > 0 {
		a.log.Info("removed what nobody wants", "objects", removed)
	}
}

// undoable returns the intent if its operation is undone after a crash, and "" if its operation is
// completed.
func undoable(intent string) string {
	if intent == intentDefault {
		return ""
	}
	return intent
}

// checkNetworksKnown refuses a state folder without the networks of recorded endpoints. It is not
// the folder with which they were made, and their networks would be pruned.
func checkNetworksKnown(was ledgerContents) error {
	for _, r := range was.endpoints {
		known := func(n heddle.Network) bool { return n.ID == r.Endpoint.Network }
		if !slices.ContainsFunc(was.networks, known) {
			return heddle.Errorf(heddle.LedgerBroken, "recover endpoint", r.Endpoint.ID.String(),
				"the ledger does not have its network "+r.Endpoint.NetworkName+" (nothing was changed)",
				"restore the state folder's heddle.db from a copy; without one, move the run folder's ledger.db away as well")
		}
	}
	return nil
}

// hasUnclaimed reports whether the records of endpoints in use are lost: this is known already, or
// found now.
func (a *Agent) hasUnclaimed(known bool) (bool, error) {
	if known || !a.ledger.fresh {
		return known, nil
	}
	found, err := a.hasPorts()
	if err == nil && found {
		err = a.ledger.setUnclaimed(true)
	}
	return found, err
}

// prune removes what no plan wants. What is left of NICs may not be removable, which does not prevent the rest.
func (a *Agent) prune() (removed []string, ofNICs, ofRest error) {
	swept, ofNICs := a.holds.removeStrays()
	pruned, ofRest := a.kernel.Prune(a.wanted.has)
	return append(swept, pruned...), ofNICs, ofRest
}

// hasPorts reports whether the kernel has a link to a container that is ours, or a route to one.
func (a *Agent) hasPorts() (bool, error) {
	owned, err := a.kernel.Ours()
	if len(a.holds.strayHolds()) > 0 {
		return true, err
	}
	port := func(l heddle.Link) bool { return strings.HasPrefix(l.Name, heddle.PrefixPort) }
	beside := func(r heddle.Route) bool {
		return strings.HasPrefix(r.Link, heddle.PrefixShim) || strings.HasPrefix(r.Link, heddle.PrefixSlave)
	}
	return slices.ContainsFunc(owned.State.Links, port) || slices.ContainsFunc(owned.State.Routes, beside), err
}

// restoreNetwork restores a network, its addresses and its plan. It computes the plan again, since
// the host may have changed. A plan that cannot be computed (the parent is gone) is logged and
// does not prevent the start.
func (a *Agent) restoreNetwork(recorded heddle.Network, mode heddle.Mode, was networkState) {
	n := &network{Network: recorded, mode: mode}
	n.initialize()
	if n.Shared {
		a.blocks.fitNewPool(n)
	}
	n.pool.SetCursor(was.cursors)
	for address, since := range was.freed {
		n.pool.RestoreQuarantine(address, since)
	}
	plan, err := n.mode.Network(a.host.now(), n.Network)
	if err != nil {
		a.log.Error("network cannot be planned now", "network", n.Name, "error", err)
		if was.plan != nil {
			plan = *was.plan
		} else {
			n.unplanned = err // the patrol tries again; until then nothing can be attached
		}
	}
	n.plan = plan
	a.wanted.add(plan.Host)
	if err := a.ledger.putPlan(n.ID, plan); err != nil {
		// a full disk must not prevent the start
		a.log.Warn("plan not recorded", "network", n.Name, "error", err)
	}
	if _, err := a.kernel.Apply(plan, nil); err != nil {
		a.log.Error("network cannot be made", "network", n.Name, "error", err)
		a.kernel.Mend(plan.Host) // all that can be made is there before anybody is attached; the first comparison tells of the rest
	}
	a.reservations.restoreLeases(n)
	a.networks.put(n)
}

// restoreRecord undoes an endpoint with an intent: an attach whose caller got no answer, or a
// detach that has begun. Other endpoints get back what they hold.
func (a *Agent) restoreRecord(r record, intent string) error {
	n, err := a.networks.ofEndpoint(r.Endpoint)
	if err != nil {
		return err
	}
	if intent != "" {
		a.log.Info("undoing an operation cut off", "operation", intent, "endpoint", r.Endpoint.ID)
		if n.FromDHCP() && r.Endpoint.NIC != nil && r.Endpoint.DHCP != nil {
			a.dhcp.resume(n, r.Endpoint) // it is given back on the NIC, before that goes back
		}
		if err := a.removeFromKernel(r); err != nil {
			// it keeps its record and intent, and GC tries again
			a.log.Error("an operation cut off is not undone",
				"operation", intent, "endpoint", r.Endpoint.ID, "error", err)
			return a.restoreClaims(n, r.Endpoint)
		}
		if n.FromDHCP() && r.Endpoint.NIC == nil {
			a.dhcp.resume(n, r.Endpoint)
			a.dhcp.end(r.Endpoint.ID)
		}
		for _, addr := range r.Endpoint.AllAddrs() {
			n.pool.RestoreQuarantine(addr.Addr(), time.Now())
		}
		a.forgetInMemory(r)
		a.flows.forgetEndpoint(r.Endpoint)
		return a.ledger.drop(r.Endpoint, time.Now())
	}
	return a.restoreClaims(n, r.Endpoint)
}
