package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// CreateNetwork records a network and makes what its endpoints will share. If it exists with the
// same settings, it is returned as it is. If a conflicting network is being made or removed,
// CreateNetwork waits until that ends or takes too long (HDL-4006).
func (a *Agent) CreateNetwork(want heddle.Network, dryRun bool) (made heddle.Network, lines []string, err error) {
	mode, err := a.modes.find(want.Mode)
	if err != nil {
		return made, nil, err
	}
	t := a.tasks.begin(work{what: "create", network: want.Name}, "the kernel")
	defer t.end()
	defer signal(a.plugs.soon) // it may want warm NICs
	met := false               // somebody else has just made one with that name
	for given := time.After(stuckAfter); ; {
		made, lines, busy, err := a.create(mode, want, dryRun, t)
		if busy == nil && !met && errors.Is(err, heddle.NetworkExists.Sentinel()) {
			met = true
			continue // it may be the one that is wanted
		}
		if busy == nil {
			return withLimits(mode, made), lines, err
		}
		t.waitFor("another network's end")
		select {
		case <-busy:
		case <-given:
			late := heddle.Errorf(heddle.Waited, "create network", want.Name,
				"another network is being made or removed: "+heddle.SentenceOf(err),
				"look at 'heddle status', which says what the other network waits for, and call again")
			return made, nil, late
		}
	}
}

// create is CreateNetwork without waiting. If a conflicting network is being made or removed, it
// returns a channel (busy) that is closed at the end of that.
func (a *Agent) create(mode heddle.Mode, want heddle.Network, dryRun bool,
	t *task) (made heddle.Network, lines []string, busy <-chan struct{}, err error) {
	if err := a.host.refresh(); err != nil {
		return made, nil, nil, err
	}
	if old, err := a.networks.find(want.Name); err == nil {
		if old.Mode != want.Mode { // in another mode, what the request leaves out means other things
			want.Subnets, want.Gateways, want.Ranges, want.Reserved = old.Subnets, old.Gateways, old.Ranges, old.Reserved
			want.Parent, want.MTU, want.Options = old.Parent, old.MTU, old.Options
			made, lines, err = a.checkSame(old, want)
			return made, lines, nil, err
		}
		n, err := a.completeLike(mode, old, want)
		if err != nil {
			return made, nil, nil, err
		}
		if want.MTU == 0 {
			n.MTU = old.MTU // it was taken from the parent then
		}
		made, lines, err = a.checkSame(old, n)
		return made, lines, nil, err
	}
	if want, err = a.chooseSubnets(mode, want); err != nil {
		return made, nil, nil, err
	}
	n, err := a.complete(mode, want)
	if err != nil {
		return made, nil, nil, err
	}
	next := &network{Network: n, mode: mode}
	if next.plan, err = mode.Network(a.host.now(), n); err != nil {
		return made, nil, nil, err
	}
	if busy, err := a.networks.conflict(next); err != nil {
		return made, nil, busy, err
	}
	if err := a.checkAgainstHost(mode, n); err != nil {
		return made, nil, nil, err
	}
	if err := a.routes.refuses(n); err != nil {
		return made, nil, nil, err
	}
	if dryRun {
		return n, networkCommands(next), nil, a.checkShared(mode, n)
	}
	if err := a.trials.probe(mode, n); err != nil {
		return made, nil, nil, err
	}
	if a.opt.spans(mode) {
		n, err = a.createShared(n, t)
		return n, nil, nil, err
	}
	if busy, err := a.networks.reserve(next); err != nil {
		return made, nil, busy, err
	}
	defer a.networkLocks.Lock(n.ID)()
	return n, nil, nil, a.makeNetwork(next)
}

// makeNetwork makes a network that is reserved.
func (a *Agent) makeNetwork(n *network) error {
	a.networkLocks.mustHold(n.ID)
	err := a.makeReserved(n)
	a.networks.endMaking(n, err == nil)
	if err != nil {
		return err
	}
	a.routes.refresh()      // its addresses are no next hop's any more
	a.otherFirewalls.open() // if this fails, the network is still there, and the patrol tries again
	return nil
}

func (a *Agent) makeReserved(n *network) error {
	err := a.trip.step("ledger network")
	if err == nil {
		err = a.ledger.putPlan(n.ID, n.plan)
	}
	if err != nil {
		a.wanted.drop(n.plan.Host)
		return err
	}
	if err = a.applyNetwork(n.plan); err == nil {
		// on disk last: a network that is recorded after a crash was made completely
		err = a.ledger.putNetwork(n.Network)
	}
	if err != nil {
		a.wanted.drop(n.plan.Host)
		if undo := a.kernel.Remove(n.plan, nil, a.wanted.has); undo != nil {
			a.log.Error("undo of a network failed", "network", n.Name, "error", undo)
		}
		a.ledger.dropPlan(n.ID)
		return err
	}
	n.initialize()
	a.reservations.restoreLeases(n)
	return nil
}

func (a *Agent) applyNetwork(p heddle.Plan) error {
	defer a.linkLocks.lockParentDevices(p.Host)()
	_, err := a.kernel.Apply(p, nil)
	return err
}

// applyAccepted makes those parts of a network that the kernel accepts.
func (a *Agent) applyAccepted(s heddle.State) error {
	defer a.linkLocks.lockParentDevices(s)()
	_, err := a.kernel.Mend(s)
	return err
}

func (n *network) initialize() {
	n.identities, n.usage = newIdentities(), &usageLock{}
	n.pool = ipam.For(n.Network)
}

// DeleteNetwork removes a network without endpoints, on all hosts that have it. It finds the
// network by name or ID; a new name that it gets meanwhile changes nothing.
func (a *Agent) DeleteNetwork(name string) error {
	n, err := a.networks.find(name)
	if err != nil && a.isRefused(name) {
		return a.dropRefused(name)
	}
	if err != nil {
		if n = a.onlyElsewhere(name); n == nil {
			return err
		}
	}
	a.removals.await(n.ID)
	t := a.tasks.begin(work{what: "delete", network: n.Name}, "the kernel")
	defer t.end()
	defer signal(a.plugs.soon)
	if n.Shared && a.opt.Cluster != nil {
		return a.deleteShared(n, t)
	}
	if err := a.removeHereIfUnused(n); err != nil {
		return err
	}
	if n.plugsOn() != "" {
		t.waitFor("the provider of its NICs")
		a.plugs.emptyPools(n.ID)
	}
	return nil
}

// removeHereIfUnused removes a network from this host, unless it has endpoints.
func (a *Agent) removeHereIfUnused(n *network) error {
	n.usage.Lock()
	defer n.usage.Unlock()
	if n.usage.deleted {
		return noNetwork(n.Name)
	}
	if used := a.endpointsOn(n.ID); len(used) > 0 {
		return inUse(n.Name, used)
	}
	if some := a.havips.on(n.ID); len(some) > 0 {
		return heddle.Errorf(heddle.NetworkInUse, "delete network", n.Name, "the network has HAVIP "+some[0].Name, "delete it first with 'heddle havip delete "+some[0].Name+"'")
	}
	if err := a.disallow(n.ID); err != nil {
		return err
	}
	defer a.networkLocks.Lock(n.ID)()
	now := a.networks.byID(n.ID)
	if now == nil {
		return noNetwork(n.Name)
	}
	if err := a.removeHere(now); err != nil {
		return err
	}
	n.usage.deleted = true
	a.routes.refresh()
	return nil
}

// disallow removes the permissions for a network from this host's networks. In networks of
// the cluster, the host that deletes the network removes them: other hosts may not.
func (a *Agent) disallow(id string) error {
	for _, other := range a.networks.all() {
		if !slices.Contains(other.Allow, id) || other.Shared && a.opt.Cluster != nil {
			continue
		}
		if err := a.setAllowedHere(other, id, false); err != nil && !errors.Is(err, heddle.NoNetwork.Sentinel()) {
			return err
		}
	}
	return nil
}

// removeHere removes from this host what a network's endpoints share, and the network's record.
func (a *Agent) removeHere(n *network) error {
	a.networkLocks.mustHold(n.ID)
	// from the disk first: after a crash, the rest is pruned at the start
	if err := a.trip.step("ledger network delete"); err != nil {
		return err
	}
	if err := a.ledger.dropNetwork(n.Network); err != nil {
		return err
	}
	last := a.networks.beginRemoval(n)
	defer a.networks.signalChange()
	err := a.removeNetwork(n.plan)
	a.networks.endRemoval(n, err == nil)
	if err != nil {
		return errors.Join(err, a.ledger.putNetwork(n.Network))
	}
	signal(a.viewAgain) // a network of the cluster may need its name or subnet
	if last {
		if err := a.otherFirewalls.Withdraw(); err != nil {
			a.log.Error("rules in other firewalls not withdrawn", "error", err)
		}
		a.otherFirewalls.open() // a new network may have been made meanwhile
	}
	return a.ledger.dropPlan(n.ID)
}

func (a *Agent) removeNetwork(p heddle.Plan) error {
	defer a.linkLocks.lockParentDevices(p.Host)()
	return a.kernel.Remove(p, nil, a.wanted.has)
}

func (a *Agent) endpointsOn(id string) []heddle.Endpoint {
	names := a.networks.names()
	var all []heddle.Endpoint
	a.records.each(func(r record, _ string) {
		if id == "" || r.Endpoint.Network == id {
			e := r.withPort()
			if name, there := names[e.Network]; there {
				e.NetworkName = name
			}
			all = append(all, e)
		}
	})
	for i, e := range all {
		all[i] = a.dhcp.shown(e)
	}
	slices.SortFunc(all, func(a, b heddle.Endpoint) int { return a.ID.Compare(b.ID) })
	return all
}

// Networks lists all networks, by name.
func (a *Agent) Networks() []heddle.Network { return a.networks.all() }

// newTime is how long a call waits for a network that another host has just made.
const newTime = 10 * time.Second

// askTime is how long the store may take to say whether it has such a network.
const askTime = 3 * time.Second

// findNew finds a network by its name or ID. If another host has just made it, findNew waits
// until this host has it, or cannot have it, for newTime at most. It does not wait for a store
// that is away.
func (a *Agent) findNew(ctx context.Context, name string) (*network, error) {
	n, err := a.networks.find(name)
	c := a.opt.Cluster
	if err == nil || c == nil || heddle.CheckNetworkName(name) != nil || checkStoreUp(c, "find network", name) != nil {
		return n, err
	}
	asking, answered := context.WithTimeout(ctx, askTime)
	there, _ := c.HasNetwork(asking, name) // without an answer it is not found, as if nobody had made it
	answered()
	ctx, cancel := context.WithTimeout(ctx, newTime)
	defer cancel()
	for err != nil && there && pause(ctx, 10*time.Millisecond) {
		if why := a.problems.whyMissing(name); why != nil {
			return nil, why
		}
		n, err = a.networks.find(name)
	}
	return n, err
}

// Network returns one network.
func (a *Agent) Network(name string) (heddle.Network, error) {
	n, err := a.findNew(context.Background(), name)
	if err != nil {
		return heddle.Network{}, err
	}
	return withLimits(n.mode, n.Network), nil
}

// withLimits adds what the mode cannot do or prevent. This is not recorded.
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
	r, ok := a.records.get(id)
	if !ok {
		return heddle.Endpoint{}, noEndpoint(id)
	}
	e := a.dhcp.shown(a.withCounts(r))
	e.Queues = a.queuesOf(r)
	if n, err := a.networks.ofEndpoint(e); err == nil {
		e.NetworkName = n.Name
	}
	return e, nil
}

func noEndpoint(id heddle.EndpointID) error {
	return heddle.Errorf(heddle.NoEndpoint, "find endpoint", id.String(), "",
		"name another endpoint: 'heddle endpoint list' shows those there are")
}
