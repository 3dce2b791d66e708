package agent

import (
	"errors"
	"slices"
	"sort"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// CreateNetwork records a network and makes what its endpoints will share.
// Created again with the same settings, it is returned as it is.
func (a *Agent) CreateNetwork(want heddle.Network, dryRun bool) (made heddle.Network, commands []string, err error) {
	a.networkOps.Lock()
	defer a.networkOps.Unlock()
	mode, err := a.mode(want.Mode)
	if err != nil {
		return made, nil, err
	}
	if err := a.refreshFacts(); err != nil {
		return made, nil, err
	}
	if old, err := a.network(want.Name); err == nil {
		n, err := a.again(mode, old, want)
		if err != nil {
			return made, nil, err
		}
		if want.MTU == 0 {
			n.MTU = old.MTU // it was taken from the parent then
		}
		made, commands, err = a.createdBefore(old, n)
		return withLimits(mode, made), commands, err
	}
	n, err := a.complete(mode, want)
	if err != nil {
		return made, nil, err
	}
	if err := a.checkAgainstOthers(mode, n); err != nil {
		return made, nil, err
	}
	if err := a.checkParent(mode, n); err != nil {
		return made, nil, err
	}
	plan, err := mode.Network(a.host(), n)
	if err != nil {
		return made, nil, err
	}
	if err := a.checkPlan(n.Name, plan); err != nil {
		return made, nil, err
	}
	if dryRun {
		return withLimits(mode, n), plan.Commands(""), nil
	}
	if err := a.probe(mode, n); err != nil {
		return made, nil, err
	}
	if a.spans(mode) {
		n, err = a.share(n)
		return withLimits(mode, n), nil, err
	}
	return withLimits(mode, n), nil, a.makeNetwork(&network{Network: n, mode: mode, plan: plan})
}

func (a *Agent) makeNetwork(n *network) error {
	if err := a.step("ledger network"); err != nil {
		return err
	}
	if err := a.ledger.putPlan(n.ID, n.plan); err != nil {
		return err
	}
	a.wantPlan(n.plan, true)
	_, err := a.kernel.Apply(n.plan, nil)
	if err == nil {
		// on disk last: a network that is there after a crash was made whole
		err = a.ledger.putNetwork(n.Network)
	}
	if err != nil {
		a.wantPlan(n.plan, false)
		if undo := a.kernel.Remove(n.plan, nil, a.isWanted); undo != nil {
			a.log.Error("undo of a network failed", "network", n.Name, "error", undo)
		}
		a.ledger.dropPlan(n.ID)
		return err
	}
	n.equip()
	a.fitLeases(n)
	a.mu.Lock()
	a.networks[n.Name] = n
	a.mu.Unlock()
	a.tell()
	if err := a.admit(); err != nil { // the network is there; the patrol tries again
		a.log.Error("other firewalls not opened for our traffic", "error", err)
	}
	return nil
}

func (n *network) equip() {
	n.macs, n.slots, n.life = map[heddle.MAC]heddle.EndpointID{}, &slots{}, &life{}
	if len(n.Subnets) > 0 {
		n.pool = ipam.NewPool(n.Network)
	}
}

func (a *Agent) wantPlan(p heddle.Plan, want bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if want {
		a.wanted.add(p.Host)
	} else {
		a.wanted.remove(p.Host)
	}
}

// DeleteNetwork removes a network without endpoints, on all hosts that have it. It
// is found by its name or ID, and is the same if it gets another name meanwhile.
func (a *Agent) DeleteNetwork(name string) error {
	n, err := a.network(name)
	if err != nil && a.refuses(name) {
		return a.dropRefused(name)
	}
	if err != nil {
		return err
	}
	a.awaitDepartures(n.ID)
	if n.Shared && a.opt.Cluster != nil {
		return a.deleteShared(n)
	}
	a.networkOps.Lock()
	defer a.networkOps.Unlock()
	now := a.networkByID(n.ID)
	if now == nil {
		return noNetwork(name)
	}
	return a.unmakeUnused(now)
}

// unmakeUnused removes a network from this host, unless it has endpoints. The
// caller holds networkOps.
func (a *Agent) unmakeUnused(n *network) error {
	n.life.Lock()
	defer n.life.Unlock()
	if used := a.endpointsOn(n.ID); len(used) > 0 {
		return inUse(n.Name, used)
	}
	if err := a.disallow(n.ID); err != nil {
		return err
	}
	if err := a.unmake(n); err != nil {
		return err
	}
	n.life.gone = true
	return nil
}

// disallow takes back other networks' permissions for a network.
func (a *Agent) disallow(id string) error {
	for _, other := range a.Networks() {
		if !slices.Contains(other.Allow, id) {
			continue
		}
		if err := a.join(other.Name, id, false); err != nil {
			return err
		}
	}
	return nil
}

// unmake removes what a network's endpoints share on this host, and its record.
func (a *Agent) unmake(n *network) error {
	// from the disk first: what is left after a crash is pruned at the start
	if err := a.step("ledger network delete"); err != nil {
		return err
	}
	if err := a.ledger.dropNetwork(n.Network); err != nil {
		return err
	}
	a.mu.Lock()
	stored := a.networks[n.Name]
	delete(a.networks, n.Name)
	a.wanted.remove(n.plan.Host)
	last := len(a.networks) == 0
	a.mu.Unlock()
	defer a.tell()
	if err := a.kernel.Remove(n.plan, nil, a.isWanted); err != nil {
		// there again, as a whole: the patrol puts back what is gone already
		a.mu.Lock()
		a.networks[n.Name] = stored
		a.wanted.add(n.plan.Host)
		a.mu.Unlock()
		return errors.Join(err, a.ledger.putNetwork(n.Network))
	}
	if last {
		if err := a.coexist.Withdraw(); err != nil {
			a.log.Error("rules in other firewalls not withdrawn", "error", err)
		}
	}
	return a.ledger.dropPlan(n.ID)
}

func (a *Agent) endpointsOn(id string) []heddle.Endpoint {
	a.mu.RLock()
	defer a.mu.RUnlock()
	names := map[string]string{} // of today, by ID
	for _, n := range a.networks {
		names[n.ID] = n.Name
	}
	var all []heddle.Endpoint
	for _, r := range a.endpoints {
		if id == "" || r.Endpoint.Network == id {
			e := r.shown()
			e.NetworkName = names[e.Network]
			all = append(all, e)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ID.String() < all[j].ID.String() })
	return all
}

// Networks lists all networks, by name.
func (a *Agent) Networks() []heddle.Network {
	a.mu.RLock()
	defer a.mu.RUnlock()
	all := make([]heddle.Network, 0, len(a.networks))
	for _, n := range a.networks {
		all = append(all, withLimits(n.mode, n.Network))
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// Network returns one network.
func (a *Agent) Network(name string) (heddle.Network, error) {
	n, err := a.network(name)
	if err != nil {
		return heddle.Network{}, err
	}
	return withLimits(n.mode, n.Network), nil
}

// withLimits adds what the mode cannot do or prevent; it is not recorded.
func withLimits(mode heddle.Mode, n heddle.Network) heddle.Network {
	if l, ok := mode.(heddle.Limiter); ok {
		n.Limits = l.Limits(n)
	}
	return n
}

// Endpoints lists all endpoints, by id.
func (a *Agent) Endpoints() []heddle.Endpoint { return a.endpointsOn("") }

// Endpoint returns one endpoint.
func (a *Agent) Endpoint(id heddle.EndpointID) (heddle.Endpoint, error) {
	r, ok := a.lookup(id)
	if !ok {
		return heddle.Endpoint{}, noEndpoint(id)
	}
	e := a.withCounts(r)
	if n, err := a.networkFor(e); err == nil {
		e.NetworkName = n.Name
	}
	return e, nil
}

func noEndpoint(id heddle.EndpointID) error {
	return heddle.Errorf(heddle.NoEndpoint, "endpoint", id.String(), "'heddle endpoint list' shows those there are")
}
