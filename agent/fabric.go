package agent

import (
	"context"
	"errors"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// storeTime bounds how long an operation waits for the store.
const storeTime = 5 * time.Second

// yieldBlocks gives back blocks that the host does not need. It does not run in follow, because
// the store may be slow.
func (a *Agent) yieldBlocks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.adopted:
			a.blocks.yieldIdle(ctx)
		}
	}
}

// adoptView makes the cluster's newest view part of the host's facts, and returns it. It adopts no
// view of a store that is not the cluster's.
func (a *Agent) adoptView() *cluster.View {
	a.viewLock.Lock()
	defer a.viewLock.Unlock()
	v := a.opt.Cluster.View()
	if !mustNotChange(v) {
		a.setFabric(v)
	}
	return v
}

// setFabric makes the cluster's view part of the host's facts.
func (a *Agent) setFabric(v *cluster.View) {
	f := v.Fabric
	var unfit []cluster.Refusal
	f.Peers, unfit = usablePeers(f.Peers, a.host.now(), a.networks.ownSubnets())
	f.Sources = a.blocks.ownSources()
	a.peerPaths.Set(f.Peers)
	if err := a.peerPaths.addTo(&f); err != nil {
		a.log.Warn("what is known about paths is not kept", "error", err)
	}
	a.host.setFabric(&f, unfit)
}

// loadFabric restores, at start, what the host last knew about its cluster, and makes the paths to
// other hosts for its shared networks.
func (a *Agent) loadFabric(was ledgerContents) error {
	for i, n := range was.networks {
		if !n.Shared {
			continue
		}
		if a.opt.Cluster == nil {
			if err := a.leaveCluster(&was.networks[i]); err != nil {
				return err
			}
			continue
		}
		for _, addr := range was.networkStates[n.ID].sources {
			a.blocks.restoreSource(heddle.Pin{Network: n.ID, Addr: addr, Host: a.host.now().Name})
		}
	}
	if a.opt.Cluster == nil {
		return nil
	}
	a.openPaths()
	a.setFabric(a.opt.Cluster.View())
	a.hostPaths.update(nil)
	a.hostPaths.removeOld(nil)
	return nil
}

// leaveCluster turns a shared network into a network of this host alone.
func (a *Agent) leaveCluster(n *heddle.Network) error {
	if !a.opt.Alone {
		return heddle.Errorf(heddle.NoStore, "use network", n.Name,
			"the network spans several hosts, and this agent has no store",
			"start the agent with the --store that it had, or with '--store none' to leave the cluster: its networks are this host's own then")
	}
	n.Shared, n.Deleting = false, false
	return a.ledger.putNetwork(*n)
}

// withStoreTimeout limits how long an operation waits for the store.
func withStoreTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, storeTime, errors.New("the store did not answer in time"))
}

// checkStoreUp refuses at once an operation that needs the store while the store is known to be
// down.
func checkStoreUp(c cluster.API, op, object string) error {
	if h := c.Health(); h.State == "down" {
		return heddle.Errorf(heddle.StoreDown, op, object, h.Detail, "wait until the store is back ('heddle status')")
	}
	return nil
}
