package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
)

// Allow permits traffic between two networks, both ways.
func (a *Agent) Allow(first, second string) error {
	n, err := a.networks.find(second)
	if err != nil {
		return err
	}
	if !n.pool.Gives() {
		return heddle.Errorf(heddle.BadArgument, "allow traffic with network", second, "the network has no subnet",
			"name two different networks that have subnets")
	}
	return a.allowOther(first, n.ID)
}

// allowOther adds a permission to the first network's plan. A permission between a shared
// network and a network of this host goes into the plan of the latter.
func (a *Agent) allowOther(name, otherID string) error {
	n, err := a.networks.find(name)
	if err != nil {
		return err
	}
	if !n.pool.Gives() || n.ID == otherID {
		cause := "the network has no subnet"
		if n.ID == otherID {
			cause = "both are the same network"
		}
		return heddle.Errorf(heddle.BadArgument, "allow traffic with network", name, cause,
			"name two different networks that have subnets")
	}
	if slices.Contains(n.Allow, otherID) {
		return nil
	}
	if n.Shared && a.opt.Cluster != nil {
		if other := a.networks.byID(otherID); other != nil && !other.Shared {
			return a.allowOther(other.Name, n.ID)
		}
		return a.allowShared(n, otherID)
	}
	return a.setAllowedHere(n.Network, otherID, true)
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

// allowShared adds a permission to the record of a network of several hosts. It is in
// effect on this host when it returns.
func (a *Agent) allowShared(n *network, otherID string) error {
	if err := a.changeShared(n, func(n *heddle.Network) error { setAllowed(n, otherID, true); return nil }); err != nil {
		return err
	}
	return a.followNow(context.Background(), n.ID)
}

func setAllowed(n *heddle.Network, other string, on bool) {
	n.Allow = slices.DeleteFunc(slices.Clone(n.Allow), func(id string) bool { return id == other })
	if on {
		n.Allow = append(n.Allow, other)
	}
}

// replan moves a network from its current plan to another: first it makes what is new,
// then it removes what is no longer wanted. The caller holds the network's lock.
func (a *Agent) replan(n *network, next heddle.Network, plan heddle.Plan) error {
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
