package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/ipam"
)

// spans reports whether the mode's networks are in the store.
func (o Options) spans(mode heddle.Mode) bool {
	_, reacher := mode.(heddle.Reacher)
	return reacher && o.Cluster != nil
}

// Spans reports whether the mode's networks are on all hosts of this host's cluster.
func (a *Agent) Spans(mode string) bool {
	m, err := a.modes.find(mode)
	return err == nil && a.opt.spans(m)
}

// checkShared returns why a new network cannot be recorded in the store; nil if it can.
func (a *Agent) checkShared(mode heddle.Mode, n heddle.Network) error {
	if !a.opt.spans(mode) {
		return nil
	}
	if err := checkStoreUp(a.opt.Cluster, "create network", n.Name); err != nil {
		return err
	}
	ctx, cancel := withStoreTimeout(context.Background())
	defer cancel()
	return a.opt.Cluster.CheckNetwork(ctx, n)
}

// createShared records a new network in the store, and makes it here. If that fails, it removes the
// record again.
func (a *Agent) createShared(n heddle.Network, t *task) (heddle.Network, error) {
	if err := checkStoreUp(a.opt.Cluster, "create network", n.Name); err != nil {
		return n, err
	}
	ctx, cancel := withStoreTimeout(context.Background())
	defer cancel()
	n.Shared = true
	t.waitFor("the store")
	made, err := a.opt.Cluster.CreateNetwork(ctx, n, nil)
	if errors.Is(err, heddle.NetworkExists.Sentinel()) && sameNetwork(made, n) {
		err = nil // another host has made it a moment ago
	}
	if err != nil {
		return n, err
	}
	t.waitFor("the kernel")
	unfit := a.followNow(ctx, made.ID)
	if unfit == nil || made.ID != n.ID {
		return made, unfit
	}
	if err := a.opt.Cluster.DeleteNetwork(ctx, made.ID); err != nil {
		a.log.Error("undo of a shared network failed", "network", n.Name, "error", err)
	}
	if err := a.followNow(ctx, made.ID); err != nil {
		a.log.Error("undo of a shared network failed", "network", n.Name, "error", err)
	}
	return n, unfit
}

// deleteShared deletes a network on all hosts.
func (a *Agent) deleteShared(n *network, t *task) error {
	if used := a.endpointsOn(n.ID); len(used) > 0 {
		return inUse(n.Name, used)
	}
	if err := checkStoreUp(a.opt.Cluster, "delete network", n.Name); err != nil {
		return err
	}
	// each other host takes its part of the network away first
	ctx, cancel := context.WithTimeoutCause(context.Background(), 2*storeTime, errors.New("the store and the other hosts did not answer in time"))
	defer cancel()
	t.waitFor("the store, and the other hosts")
	if err := a.opt.Cluster.DeleteNetwork(ctx, n.ID); err != nil {
		return err
	}
	t.waitFor("the kernel")
	if err := a.followNow(ctx, n.ID); err != nil {
		a.log.Error("a network that the cluster deleted stays", "network", n.Name, "error", err)
	}
	return nil
}

// changeShared changes a network's record in the store, which all hosts follow.
func (a *Agent) changeShared(n *network, change func(*heddle.Network) error) error {
	if err := checkStoreUp(a.opt.Cluster, "change network", n.Name); err != nil {
		return err
	}
	ctx, cancel := withStoreTimeout(context.Background())
	defer cancel()
	return a.opt.Cluster.ChangeNetwork(ctx, n.ID, change)
}

// adoptNetwork makes a network of the cluster on this host, or brings it in line.
func (a *Agent) adoptNetwork(n heddle.Network) error {
	a.networkLocks.mustHold(n.ID)
	n, err := heddle.Bounded(n)
	if err != nil {
		return err
	}
	if known := a.networks.byID(n.ID); known != nil && known.Name != n.Name {
		if err := a.rename(known, n); err != nil {
			return err
		}
	}
	local, err := a.networks.find(n.Name)
	if err == nil && local.ID != n.ID {
		if err := a.freeName(local, n); err != nil {
			return err
		}
		local, err = nil, noNetwork(n.Name)
	}
	if err != nil {
		return a.makeFromCluster(n)
	}
	if local.unplanned != nil {
		return local.unplanned
	}
	if !local.Shared {
		return nil // its addresses are not in the store; see migrate
	}
	if !cluster.SameAddresses(local.Network, n) {
		return heddle.Errorf(heddle.NetworkExists, "follow the record of network", n.Name,
			"somebody has changed its addresses in the store: they are others than on this host",
			"delete the network and create it again")
	}
	plan, err := local.mode.Network(a.host.now(), n)
	if err != nil {
		return err
	}
	add, gone := heddle.Delta(local.plan.Host, plan.Host)
	if add.Empty() && gone.Empty() && reflect.DeepEqual(local.Network, n) {
		return nil
	}
	return a.replan(local, n, plan)
}

// freeName removes an unused network whose name the cluster has given to another one. If the unused
// one is locked, this is tried again later.
func (a *Agent) freeName(local *network, n heddle.Network) error {
	if !local.Shared || len(a.endpointsOn(local.ID)) > 0 {
		return heddle.Errorf(heddle.NetworkExists, "create the cluster's network", n.Name,
			"this host has a network of its own with that name",
			"delete this host's network, and the cluster's is made; or create this host's again under another name")
	}
	if !local.usage.TryLock() {
		return nameTaken(n.Name)
	}
	defer local.usage.Unlock()
	unlock := a.networkLocks.TryLock(local.ID)
	if unlock == nil {
		return nameTaken(n.Name)
	}
	defer unlock()
	now := a.networks.byID(local.ID)
	if now == nil || now.Name != n.Name || len(a.endpointsOn(local.ID)) > 0 {
		return nameTaken(n.Name)
	}
	if err := a.removeHere(now); err != nil {
		return err
	}
	local.usage.deleted = true
	return nil
}

// makeFromCluster makes a network that another host has created. If this host would refuse to
// create it, it is not made here; other hosts may still have it.
func (a *Agent) makeFromCluster(n heddle.Network) error {
	mode, err := a.modes.find(n.Mode)
	if err != nil {
		return err
	}
	if err := a.host.refresh(); err != nil {
		return err
	}
	if err := heddle.CheckNetworkName(n.Name); err != nil {
		return err
	}
	if _, err := ipam.Check(n); err != nil {
		return err
	}
	if err := mode.Check(a.host.now(), n); err != nil {
		return err
	}
	next := &network{Network: n, mode: mode}
	if next.plan, err = mode.Network(a.host.now(), n); err != nil {
		return err
	}
	if _, err := a.networks.conflict(next); err != nil { // if another network is underway, this is tried again after it
		return err
	}
	if err := a.checkAgainstHost(mode, n); err != nil {
		return err
	}
	if err := a.checkHostRoutes(n); err != nil {
		return err
	}
	if err := a.trials.probe(mode, n); err != nil {
		return err
	}
	if _, err := a.networks.reserve(next); err != nil {
		return err
	}
	if err := a.makeNetwork(next); err != nil {
		return err
	}
	a.blocks.fitPool(n)
	return nil
}

func inUse(name string, used []heddle.Endpoint) error {
	return heddle.Errorf(heddle.NetworkInUse, "delete network", name,
		fmt.Sprintf("the network has %s, such as %s", heddle.Count(len(used), "endpoint"), used[0].ID), "detach its endpoints first")
}
