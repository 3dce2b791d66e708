package agent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// storeTime bounds what an operation waits for the store.
const storeTime = 5 * time.Second

// storeAway refuses at once what needs a store that is known to be away.
func (a *Agent) storeAway(op, object string) error {
	if h := a.opt.Cluster.Health(); h.State == "down" {
		return heddle.Errorf(heddle.StoreDown, op, object, "wait until it is back ('heddle status'): "+h.Detail)
	}
	return nil
}

// follow keeps the host in line with the cluster: networks made on other hosts
// are made here, and the ways to other hosts follow their blocks.
func (a *Agent) follow(ctx context.Context) {
	tick := time.NewTicker(patrolEvery)
	defer tick.Stop()
	for {
		a.adopt(ctx)
		select {
		case a.adopted <- struct{}{}:
		default:
		}
		select {
		case <-ctx.Done():
			return
		case <-a.opt.Cluster.Changed():
		case <-a.paths.Changed():
		case <-tick.C:
		}
	}
}

// tend gives back what the host does not need, beside follow: the store may be slow.
func (a *Agent) tend(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.adopted:
			a.yieldIdle(ctx)
		}
	}
}

// adopt takes on what the cluster looks like now.
func (a *Agent) adopt(ctx context.Context) {
	a.networkOps.Lock()
	defer a.networkOps.Unlock()
	a.adoptLocked(ctx)
}

// adoptLocked is adopt; the caller holds networkOps.
func (a *Agent) adoptLocked(ctx context.Context) {
	v := a.opt.Cluster.View()
	if v.Strange != nil || v.Removed {
		a.heedHost() // status tells; what is there stays
		return
	}
	if v.Revision > 0 {
		a.migrate(ctx, v)
		v = a.opt.Cluster.View()
	}
	unfit := map[string]error{}
	for _, n := range v.Networks {
		a.fit(n)
	}
	a.setFabric(v)
	a.weave(func() {
		for _, n := range v.Networks {
			if err := a.adoptNetwork(n); err != nil {
				unfit[n.Name] = err
			}
		}
		if v.Revision > 0 {
			a.dropLeft(v)
		}
	})
	a.noteUnfit(unfit)
}

// heedHost brings the plans of shared networks in line with this host alone, whose
// IPsec policies may have changed: the hosts stay those that were known.
func (a *Agent) heedHost() {
	if a.host().Fabric == nil {
		return
	}
	a.weave(func() {
		for _, n := range a.Networks() {
			if !n.Shared {
				continue
			}
			if err := a.adoptNetwork(n); err != nil {
				a.log.Warn("a network does not follow the host", "network", n.Name, "error", err)
			}
		}
	})
}

// setFabric makes the cluster's view part of the host's facts.
func (a *Agent) setFabric(v *cluster.View) {
	f := v.Fabric
	var misfits []cluster.Refusal
	f.Peers, misfits = fitPeers(f.Peers, a.host(), a.ownSubnets())
	a.pools.Lock()
	f.Sources = slices.Clone(a.sources)
	a.pools.Unlock()
	a.paths.Set(f.Peers)
	if err := a.paths.fill(&f); err != nil {
		a.log.Warn("what is known about paths is not kept", "error", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.facts.Fabric, a.misfits = &f, misfits
}

// weave brings what all shared networks need from its plan to the one for the
// fabric as it is now: what is new before the networks' routes go there, what is
// old after they are gone. The caller holds networkOps.
func (a *Agent) weave(networks func()) {
	old, next := a.reach, a.planReach()
	add, gone := heddle.Delta(old.Host, next.Host)
	if len(add.Links) > 0 {
		add = next.Host // what lies on a device goes with it when it is made anew
	}
	a.wantPlan(next, true)
	var err error
	if !add.Empty() {
		_, err = a.kernel.Apply(heddle.Plan{Host: add}, nil)
	}
	if err != nil && !gone.Empty() {
		// a range that goes may be in the way of one that comes
		a.wantPlan(old, false)
		err = a.kernel.Remove(heddle.Plan{Host: gone}, nil, a.isWanted)
		a.wantPlan(old, true)
		if err == nil {
			_, err = a.kernel.Apply(next, nil)
		}
	}
	if err != nil {
		// what one peer says of itself may be refused: the others have their ways all
		// the same, and the patrol goes on trying
		_, err = a.kernel.Mend(next.Host)
	}
	a.mu.Lock()
	a.reach = next
	a.mu.Unlock()
	if !add.Empty() {
		a.setReachError(err)
	}
	networks()
	a.wantPlan(old, false)
	if gone.Empty() {
		return
	}
	if err := a.kernel.Remove(heddle.Plan{Host: gone}, nil, a.isWanted); err != nil {
		a.log.Error("ways to other hosts not all removed", "error", err)
	}
}

func (a *Agent) setReachError(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil && (a.reachError == nil || a.reachError.Error() != err.Error()) {
		a.log.Error("not all ways to other hosts are there", "error", err)
	}
	a.reachError = err
}

// planReach is what the shared networks need to reach other hosts, by mode.
func (a *Agent) planReach() heddle.Plan {
	var p heddle.Plan
	host := a.host()
	for _, m := range a.opt.Modes {
		r, spans := m.(heddle.Reacher)
		used := slices.ContainsFunc(host.Fabric.Networks, func(n heddle.Network) bool { return n.Mode == m.Name() })
		if spans && used {
			p.Host, _ = p.Host.Union(r.Reach(host).Host)
		}
	}
	return p
}

// noteUnfit keeps, for the status, which networks of the cluster this host
// cannot have, and why.
func (a *Agent) noteUnfit(unfit map[string]error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, err := range unfit {
		if old := a.unfit[name]; old == nil || old.Error() != err.Error() {
			a.log.Error("a network of the cluster is not on this host", "network", name, "error", err)
		}
	}
	a.unfit = unfit
}

// loadFabric takes up, at the start, what the host last knew of its cluster, and
// makes what its shared networks stand on.
func (a *Agent) loadFabric(recorded []heddle.Network) error {
	for i, n := range recorded {
		if !n.Shared {
			continue
		}
		if a.opt.Cluster == nil {
			if err := a.leave(&recorded[i]); err != nil {
				return err
			}
			continue
		}
		own, err := a.ledger.sources(n.ID)
		if err != nil {
			return err
		}
		for _, addr := range own {
			a.sources = append(a.sources, heddle.Pin{Network: n.ID, Addr: addr, Host: a.facts.Name})
		}
	}
	if a.opt.Cluster == nil {
		return nil
	}
	a.openPaths()
	a.setFabric(a.opt.Cluster.View())
	a.weave(func() {})
	return nil
}

// leave makes a network of several hosts one of this host alone.
func (a *Agent) leave(n *heddle.Network) error {
	if !a.opt.Alone {
		return heddle.Errorf(heddle.NoStore, "network", n.Name+" of several hosts", "start the agent with the --store that it had, or with '--store none' to leave the cluster: its networks are this host's own then")
	}
	n.Shared, n.Deleting = false, false
	return a.ledger.putNetwork(*n)
}

// waiting bounds an operation that needs the store.
func waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, storeTime, errors.New("the store did not answer in time"))
}
