package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// The host follows the cluster network by network. Each network is brought in line concurrently
// with the others, by the view that is the newest when its turn comes. So a state that only an
// older view had is never made.

const (
	// pathsWait is how long the networks wait for the paths to other hosts: most networks have
	// routes over them.
	pathsWait = time.Second
	// viewInterval is the least time between two looks at a cluster that changes all the time.
	viewInterval = 100 * time.Millisecond
)

// follow keeps the host in line with the cluster: it makes networks of other hosts here, and
// updates the paths to other hosts.
func (a *Agent) follow(ctx context.Context) {
	tick := time.NewTicker(patrolEvery)
	defer tick.Stop()
	for {
		a.followCluster(ctx)
		if !pause(ctx, viewInterval) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-a.opt.Cluster.Changed():
		case <-a.peerPaths.Changed():
		case <-a.viewAgain:
		case <-tick.C:
		}
	}
}

// followCluster starts to bring all networks in line, and then to remove old paths to other hosts,
// over which they had routes. It waits for neither. The returned channel is closed when the old
// paths are removed.
func (a *Agent) followCluster(ctx context.Context) <-chan struct{} {
	v := a.adoptView()
	reached := a.followJobs.start("reach", work{what: "reach other hosts"}, a.hostPaths.update)
	awaitAll(ctx, pathsWait, []<-chan struct{}{reached})
	names := map[string]string{}
	for _, n := range a.networks.all() {
		if n.Shared || a.Spans(n.Mode) {
			names[n.ID] = n.Name
		}
	}
	maps.Copy(names, a.problems.missingNames())
	for _, n := range v.Networks {
		names[n.ID] = n.Name
	}
	var settled []<-chan struct{}
	for id, name := range names {
		settled = append(settled, a.startFollowing(id, name))
	}
	signal(a.adopted)
	if !a.hostPaths.hasOld() {
		gone := make(chan struct{})
		close(gone)
		return gone
	}
	return a.followJobs.start("left", work{what: "remove old ways to other hosts"}, func(t *task) {
		awaitAll(context.Background(), lateAfter/2, settled)
		a.hostPaths.removeOld(t)
	})
}

// startFollowing starts to bring a network in line with the view.
func (a *Agent) startFollowing(id, name string) <-chan struct{} {
	return a.followJobs.start(id, work{what: "follow the cluster", network: name}, func(t *task) {
		t.waitFor("the kernel")
		a.followNetwork(context.Background(), id)
		signal(a.adopted)
	})
}

// followNow brings a network and what it depends on in line. Old paths to other hosts stay until
// the other networks have followed, too. If this network was deleted, followNow waits for that for
// a moment.
func (a *Agent) followNow(ctx context.Context, id string) error {
	a.adoptView()
	a.hostPaths.update(nil)
	err := a.followNetwork(ctx, id)
	if a.networks.byID(id) == nil && a.hostPaths.hasOld() {
		awaitAll(ctx, lateAfter, []<-chan struct{}{a.followCluster(ctx)})
	} else {
		signal(a.viewAgain)
	}
	return err
}

// followNetwork brings a network in line with the cluster's newest view, and notes it if the
// network cannot be on this host.
func (a *Agent) followNetwork(ctx context.Context, id string) error {
	v := a.adoptView()
	local := a.networks.byID(id)
	if local != nil && !local.Shared && a.opt.spans(local.mode) && v.Revision > 0 && !mustNotChange(v) {
		if err := a.migrate(ctx, local, v); err != nil {
			return err
		}
		v = a.adoptView()
	}
	n, there := inView(v, id)
	if !there && !mustNotChange(v) {
		a.problems.noteMissing(id, "", nil)
		if local = a.networks.byID(id); local == nil || !local.Shared || v.Revision == 0 {
			return nil
		}
		if _, refused := v.RefusedNetworks[local.Name]; refused {
			return nil // the network stays as it was before the record was refused
		}
		err := a.removeHereIfUnused(local)
		if errors.Is(err, heddle.NoNetwork.Sentinel()) {
			return nil // somebody else has removed it first
		}
		if err != nil {
			a.log.Error("a network that the cluster deleted stays", "network", local.Name, "error", err)
		}
		return err
	}
	a.blocks.fitPool(n)
	err := a.adoptNewest(id)
	a.problems.noteMissing(id, n.Name, err)
	return err
}

// adoptNewest adopts the network as the view has it, under the network's lock.
func (a *Agent) adoptNewest(id string) error {
	defer a.networkLocks.Lock(id)()
	v := a.adoptView()
	n, there := inView(v, id)
	if mustNotChange(v) {
		local := a.networks.byID(id)
		if there = local != nil && local.Shared; there {
			n = local.Network
		}
	}
	if !there {
		return nil // a later view starts this again
	}
	return a.adoptNetwork(n)
}

// mustNotChange reports whether a view must not change anything on the host: the store is not the
// cluster's, or the host was removed from the cluster. The status reports this. What exists stays,
// and follows this host's own changes.
func mustNotChange(v *cluster.View) bool { return v.Strange != nil || v.Removed }

func inView(v *cluster.View, id string) (heddle.Network, bool) {
	if i := slices.IndexFunc(v.Networks, func(n heddle.Network) bool { return n.ID == id }); i >= 0 {
		return v.Networks[i], true
	}
	return heddle.Network{}, false
}

// signal sends on a channel with a capacity of one, unless a signal is waiting there already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
