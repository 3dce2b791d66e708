package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/ipam"
)

// spans reports whether networks of the mode are in the store.
func (a *Agent) spans(mode heddle.Mode) bool {
	_, reacher := mode.(heddle.Reacher)
	return reacher && a.opt.Cluster != nil
}

// Spans reports whether networks of the mode are on all hosts of a cluster that
// this one belongs to.
func (a *Agent) Spans(mode string) bool {
	m, err := a.mode(mode)
	return err == nil && a.spans(m)
}

// unlocked does what waits for the store without networkOps, which the caller
// holds: the store may be slow, and this host's other networks, and the repair of
// what drifts, do not depend on it. Networks may come and go meanwhile.
func (a *Agent) unlocked(do func() error) error {
	a.networkOps.Unlock()
	defer a.networkOps.Lock()
	return do()
}

// share records a new network in the store, and makes it here. If that fails, it
// is taken out of the store again. The caller holds networkOps.
func (a *Agent) share(n heddle.Network) (heddle.Network, error) {
	if err := a.storeAway("create network", n.Name); err != nil {
		return n, err
	}
	ctx, cancel := waiting(context.Background())
	defer cancel()
	n.Shared = true
	made := n
	err := a.unlocked(func() (err error) {
		made, err = a.opt.Cluster.CreateNetwork(ctx, n, nil)
		return err
	})
	if errors.Is(err, heddle.NetworkExists.Sentinel()) && sameNetwork(made, n) {
		err = nil // made on another host a moment ago
	}
	if err != nil {
		return n, err
	}
	a.adoptLocked(ctx)
	a.mu.RLock()
	unfit := a.unfit[n.Name]
	a.mu.RUnlock()
	if unfit == nil || made.ID != n.ID {
		return made, unfit
	}
	undo := func() error { return a.opt.Cluster.DeleteNetwork(ctx, made.ID) }
	if err := a.unlocked(undo); err != nil {
		a.log.Error("undo of a shared network failed", "network", n.Name, "error", err)
	}
	a.adoptLocked(ctx)
	return n, unfit
}

// deleteShared deletes a network on all hosts.
func (a *Agent) deleteShared(n *network) error {
	if used := a.endpointsOn(n.ID); len(used) > 0 {
		return inUse(n.Name, used)
	}
	if err := a.storeAway("delete network", n.Name); err != nil {
		return err
	}
	ctx, cancel := waiting(context.Background())
	defer cancel()
	if err := a.opt.Cluster.DeleteNetwork(ctx, n.ID); err != nil {
		return err
	}
	a.networkOps.Lock()
	defer a.networkOps.Unlock()
	a.adoptLocked(ctx)
	if err := a.disallow(n.ID); err != nil { // permissions for what is gone do no harm
		a.log.Warn("permissions for a deleted network stay", "network", n.Name, "error", err)
	}
	return nil
}

// changeShared changes a network's record on all hosts. The caller holds
// networkOps, and says whether it can be let go of meanwhile: not by whoever is
// about to remove another network.
func (a *Agent) changeShared(name string, letGo bool, change func(*heddle.Network) error) error {
	if err := a.storeAway("change network", name); err != nil {
		return err
	}
	ctx, cancel := waiting(context.Background())
	defer cancel()
	commit := func() error { return a.opt.Cluster.ChangeNetwork(ctx, name, change) }
	var err error
	if letGo {
		err = a.unlocked(commit)
	} else {
		err = commit()
	}
	if err == nil {
		a.adoptLocked(ctx)
	}
	return err
}

// adoptNetwork makes a network of the cluster on this host, or brings it in line.
func (a *Agent) adoptNetwork(n heddle.Network) error {
	if known := a.networkByID(n.ID); known != nil && known.Name != n.Name {
		if err := a.rename(known, n); err != nil {
			return err
		}
	}
	local, err := a.network(n.Name)
	if err == nil && local.ID != n.ID {
		if !local.Shared || len(a.endpointsOn(local.ID)) > 0 {
			return heddle.Errorf(heddle.NetworkExists, "network", n.Name+" of this host alone", "delete it, then the cluster's network of that name comes; or create it anew under another name")
		}
		if err := a.unmake(local); err != nil {
			return err
		}
		local, err = nil, noNetwork(n.Name)
	}
	if err != nil {
		return a.takeOn(n)
	}
	if local.unplanned != nil {
		return local.unplanned
	}
	if !local.Shared {
		return nil // it is not in the store with the addresses it has; see migrate
	}
	if !cluster.SamePlace(local.Network, n) {
		return heddle.Errorf(heddle.NetworkExists, "network", n.Name+" with other addresses than on this host", "somebody changed its record in the store; delete the network and create it anew")
	}
	plan, err := local.mode.Network(a.host(), n)
	if err != nil {
		return err
	}
	add, gone := heddle.Delta(local.plan.Host, plan.Host)
	if add.Empty() && gone.Empty() && reflect.DeepEqual(local.Network, n) {
		return nil
	}
	return a.replan(local, n, plan)
}

// takeOn makes a network that another host has created. What it would refuse if
// it were created here keeps it from this host, not from others.
func (a *Agent) takeOn(n heddle.Network) error {
	mode, err := a.mode(n.Mode)
	if err != nil {
		return err
	}
	if err := a.refreshFacts(); err != nil { // a network that went a moment ago is still in the old
		return err
	}
	if err := heddle.CheckNetworkName(n.Name); err != nil {
		return err
	}
	if _, err := ipam.Check(n); err != nil {
		return err
	}
	if err := mode.Check(a.host(), n); err != nil {
		return err
	}
	if err := a.checkAgainstOthers(mode, n); err != nil {
		return err
	}
	if err := a.checkHostRoutes(n); err != nil {
		return err
	}
	if err := a.probe(mode, n); err != nil {
		return err
	}
	plan, err := mode.Network(a.host(), n)
	if err != nil {
		return err
	}
	if err := a.checkPlan(n.Name, plan); err != nil {
		return err
	}
	if err := a.makeNetwork(&network{Network: n, mode: mode, plan: plan}); err != nil {
		return err
	}
	a.fit(n)
	return nil
}

// dropLeft removes the shared networks that the cluster has no more.
func (a *Agent) dropLeft(v *cluster.View) {
	for _, n := range a.Networks() {
		there := slices.ContainsFunc(v.Networks, func(m heddle.Network) bool { return m.ID == n.ID })
		if _, refused := v.RefusedNetworks[n.Name]; !n.Shared || there || refused {
			continue
		}
		local, err := a.network(n.Name)
		if err == nil {
			err = a.unmakeUnused(local)
		}
		if err != nil {
			a.log.Error("a network that the cluster deleted stays", "network", n.Name, "error", err)
		}
	}
}

func inUse(name string, used []heddle.Endpoint) error {
	return heddle.Errorf(heddle.NetworkInUse, "network", fmt.Sprintf("%s with %d endpoints, such as %s", name, len(used), used[0].ID), "detach them first")
}
