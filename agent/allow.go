package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
)

// Allow permits traffic between two networks, both ways.
func (a *Agent) Allow(first, second string) error {
	_, err := a.permit(first, second, true, false)
	return err
}

// Disallow takes a permission back, whichever of the two networks has it in its record.
func (a *Agent) Disallow(first, second string) error {
	_, err := a.permit(first, second, false, false)
	return err
}

// permit permits traffic between two networks, or no longer. A dry run changes nothing, and returns the
// commands.
func (a *Agent) permit(first, second string, on, dryRun bool) (lines []string, err error) {
	n, m, err := a.twoNetworks(first, second)
	if err != nil {
		return nil, err
	}
	ways := [][2]*network{{n, m}, {m, n}} // whose record it is in, and the other network
	has := func(way [2]*network) bool { return slices.Contains(way[0].Allow, way[1].ID) }
	change := slices.DeleteFunc(slices.Clone(ways), func(way [2]*network) bool { return !has(way) })
	if on && len(change) > 0 {
		return nil, nil
	}
	if on {
		change = ways[:1]
		// between a shared network and one of this host, it goes into the record of the latter
		if n.Shared && !m.Shared && a.opt.Cluster != nil {
			change = ways[1:]
		}
	}
	for _, way := range change {
		more, err := a.changePermission(way[0], way[1], on, dryRun)
		if err != nil {
			return lines, err
		}
		lines = append(lines, more...)
	}
	return lines, nil
}

// twoNetworks finds two different networks with subnets.
func (a *Agent) twoNetworks(first, second string) (n, m *network, err error) {
	if n, err = a.networks.find(first); err != nil {
		return nil, nil, err
	}
	if m, err = a.networks.find(second); err != nil {
		return nil, nil, err
	}
	cause, name := "", first
	switch {
	case n.ID == m.ID:
		cause = "both are the same network"
	case !n.pool.Gives():
		cause = "the network has no subnet"
	case !m.pool.Gives():
		cause, name = "the network has no subnet", second
	}
	if cause != "" {
		return nil, nil, heddle.Errorf(heddle.BadArgument, "allow traffic with network", name, cause,
			"name two different networks that have subnets")
	}
	return n, m, nil
}

// changePermission changes a permission in a network's record, in the store or on this host. A change in
// the store is in effect on this host when it returns.
func (a *Agent) changePermission(n, other *network, on, dryRun bool) ([]string, error) {
	shared := n.Shared && a.opt.Cluster != nil
	switch {
	case dryRun:
		return a.permissionCommands(n, other, on, shared)
	case !shared:
		return nil, a.setAllowedHere(n.Network, other.ID, on)
	}
	if err := a.changeShared(n, func(n *heddle.Network) error { setAllowed(n, other.ID, on); return nil }); err != nil {
		return nil, err
	}
	return nil, a.followNow(context.Background(), n.ID)
}

// setAllowedHere adds or removes a permission in the record of a network of this host.
func (a *Agent) setAllowedHere(of heddle.Network, otherID string, on bool) error {
	defer a.networkLocks.Lock(of.ID)()
	n := a.networks.byID(of.ID)
	if n == nil {
		return noNetwork(of.Name)
	}
	next := n.Network
	setAllowed(&next, otherID, on)
	next, err := heddle.Bounded(next)
	if err != nil {
		return err
	}
	plan, err := n.mode.Network(a.host.now(), next)
	if err != nil {
		return err
	}
	return a.replan(n, next, plan)
}

func setAllowed(n *heddle.Network, other string, on bool) {
	n.Allow = slices.DeleteFunc(slices.Clone(n.Allow), func(id string) bool { return id == other })
	if on {
		n.Allow = append(n.Allow, other)
	}
}

// replan moves a network from its current plan to another: first it makes what is new,
// then it removes what is no longer wanted.
func (a *Agent) replan(n *network, next heddle.Network, plan heddle.Plan) error {
	a.networkLocks.mustHold(n.ID)
	if err := a.ledger.putPlan(n.ID, plan); err != nil {
		return err
	}
	add, gone := heddle.Delta(n.plan.Host, plan.Host)
	a.wanted.add(plan.Host)
	err := a.applyNetwork(heddle.Plan{Host: add})
	var stuck error
	if err != nil && next.Shared {
		// the change for one host may be refused: the paths to the others still change,
		// and the patrol tries again
		stuck = a.applyAccepted(add)
		err = nil
	}
	if err == nil {
		err = a.trip.step("ledger network change")
	}
	if err == nil {
		err = a.ledger.putNetwork(next)
	}
	if err != nil {
		a.wanted.drop(plan.Host)
		return errors.Join(err, a.kernel.Remove(heddle.Plan{Host: add}, nil, a.wanted.has),
			a.ledger.putPlan(n.ID, n.plan))
	}
	a.wanted.drop(n.plan.Host)
	a.networks.replace(n.Name, next, plan)
	return errors.Join(stuck, a.kernel.Remove(heddle.Plan{Host: gone}, nil, a.wanted.has))
}
