package agent

import (
	"context"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// migrate puts a network that the host had before it joined the cluster into the store, with the
// blocks of its endpoints' addresses. If the cluster refuses it (another network has the name or
// the subnet), the network stays on this host alone, and the status says so.
func (a *Agent) migrate(ctx context.Context, n *network, v *cluster.View) error {
	err := a.migrateNetwork(ctx, n, v)
	a.problems.noteLocalOnly(n.Name, err)
	return err
}

func (a *Agent) migrateNetwork(ctx context.Context, n *network, v *cluster.View) error {
	there := slices.ContainsFunc(v.Networks, func(m heddle.Network) bool { return m.ID == n.ID })
	if !there {
		if err := checkStoreUp(a.opt.Cluster, "share network", n.Name); err != nil {
			return err // no caller waits for this
		}
	}
	n.usage.Lock() // no attach meanwhile
	defer n.usage.Unlock()
	if n.usage.deleted {
		return nil
	}
	if !there {
		shared := n.Network
		shared.Shared, shared.Limits = true, nil
		ctx, cancel := withStoreTimeout(ctx)
		defer cancel()
		if _, err := a.opt.Cluster.CreateNetwork(ctx, shared, usedBlocks(n)); err != nil {
			return err
		}
	}
	if err := a.blocks.checkOwned(n); err != nil {
		return err
	}
	defer a.networkLocks.Lock(n.ID)()
	next, known := a.networks.markShared(n.ID)
	if !known {
		return noNetwork(n.Name)
	}
	if err := a.ledger.putNetwork(next); err != nil {
		return err
	}
	a.blocks.fitPool(next)
	return nil
}

// checkOwned refuses a network if one of its endpoints has an address that this host may not give
// out: the endpoint got it while the host had left the cluster.
func (bs *blocks) checkOwned(n *network) error {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	v := bs.cluster.View()
	for id, addrs := range n.pool.Held() {
		for _, addr := range addrs {
			if !bs.ownsLocked(n.ID, addr.Addr(), v) {
				return heddle.Errorf(heddle.AddressTaken, "share network", n.Name,
					"other hosts may have address "+addr.Addr().String()+" of endpoint "+id.String(),
					"detach the endpoint; then the network is the cluster's again")
			}
		}
	}
	return nil
}

// usedBlocks returns the blocks in which endpoints have addresses, or had them a moment ago.
func usedBlocks(n *network) []netip.Prefix {
	var all []netip.Prefix
	for _, addrs := range n.pool.Held() {
		for _, addr := range addrs {
			b := heddle.BlockOf(addr.Masked(), addr.Addr())
			if !slices.Contains(all, b) {
				all = append(all, b)
			}
		}
	}
	slices.SortFunc(all, func(x, y netip.Prefix) int { return x.Addr().Compare(y.Addr()) })
	return all
}
