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

// see makes the cluster's newest view part of the host's facts, and returns it. Of a
// store that is not the cluster's, nothing is taken up.
func (a *Agent) see() *cluster.View {
	a.seeing.Lock()
	defer a.seeing.Unlock()
	v := a.opt.Cluster.View()
	if !closed(v) {
		a.setFabric(v)
	}
	return v
}

// setFabric makes the cluster's view part of the host's facts.
func (a *Agent) setFabric(v *cluster.View) {
	f := v.Fabric
	var misfits []cluster.Refusal
	f.Peers, misfits = fitPeers(f.Peers, a.host.now(), a.ownSubnets())
	a.pools.Lock()
	f.Sources = slices.Clone(a.sources)
	a.pools.Unlock()
	a.paths.Set(f.Peers)
	if err := a.paths.fill(&f); err != nil {
		a.log.Warn("what is known about paths is not kept", "error", err)
	}
	a.host.setFabric(&f, misfits)
}

// weave brings what all shared networks need from its plan to the one for the
// fabric as it is now. What is old goes later, once the networks' routes do not go there
// any more (unweave).
func (a *Agent) weave(t *task) {
	if a.host.now().Fabric == nil {
		return
	}
	a.reaching.Lock()
	defer a.reaching.Unlock()
	t.awaits("the kernel")
	old, next := a.reach, a.planReach()
	add, gone := heddle.Delta(old.Host, next.Host)
	if add.Empty() && gone.Empty() {
		a.setReach(next)
		return
	}
	if len(add.Links) > 0 {
		add = next.Host // what lies on a device goes with it when it is made anew
	}
	a.wants.add(next.Host)
	var err error
	if !add.Empty() {
		_, err = a.kernel.Apply(heddle.Plan{Host: add}, nil)
	}
	if err != nil && !gone.Empty() {
		// a range that goes may be in the way of one that comes
		a.wants.drop(old.Host)
		err = a.kernel.Remove(heddle.Plan{Host: gone}, nil, a.wants.has)
		a.wants.add(old.Host)
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
	a.left = append(a.left, old)
	a.mu.Unlock()
	a.setReach(next)
	if !add.Empty() {
		a.setReachError(err)
	}
}

// setReach notes the ways to other hosts that are wanted. The plan counted as wanted
// before is the same, or in left.
func (a *Agent) setReach(p heddle.Plan) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reach = p
}

// unweave removes what the ways to other hosts needed before, and do not any more.
func (a *Agent) unweave(t *task) {
	a.reaching.Lock()
	defer a.reaching.Unlock()
	t.awaits("the kernel")
	a.mu.Lock()
	left := a.left
	a.left = nil
	a.mu.Unlock()
	for _, old := range left {
		a.wants.drop(old.Host)
		_, gone := heddle.Delta(old.Host, a.reach.Host)
		if gone.Empty() {
			continue
		}
		if err := a.kernel.Remove(heddle.Plan{Host: gone}, nil, a.wants.has); err != nil {
			a.log.Error("ways to other hosts not all removed", "error", err)
		}
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
	host := a.host.now()
	for _, m := range a.opt.Modes {
		r, spans := m.(heddle.Reacher)
		used := slices.ContainsFunc(host.Fabric.Networks, func(n heddle.Network) bool { return n.Mode == m.Name() })
		if spans && used {
			p.Host, _ = p.Host.Union(r.Reach(host).Host)
		}
	}
	return p
}

// loadFabric takes up, at the start, what the host last knew of its cluster, and
// makes what its shared networks stand on.
func (a *Agent) loadFabric(was recorded) error {
	for i, n := range was.networks {
		if !n.Shared {
			continue
		}
		if a.opt.Cluster == nil {
			if err := a.leave(&was.networks[i]); err != nil {
				return err
			}
			continue
		}
		for _, addr := range was.books[n.ID].sources {
			a.sources = append(a.sources, heddle.Pin{Network: n.ID, Addr: addr, Host: a.host.now().Name})
		}
	}
	if a.opt.Cluster == nil {
		return nil
	}
	a.openPaths()
	a.setFabric(a.opt.Cluster.View())
	a.weave(nil)
	a.unweave(nil)
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
