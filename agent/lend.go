package agent

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// lender answers other hosts that ask for addresses of this one's blocks.
type lender struct{ *Agent }

// Lend sets an address aside, or says who has it.
func (l lender) Lend(network string, addr netip.Addr) error {
	shared, ok := l.networkByID(network).blocks()
	if !ok {
		return noNetwork(network)
	}
	l.pools.Lock()
	defer l.pools.Unlock()
	if err := shared.Lend(addr, "another host"); err != nil {
		return err
	}
	l.lent[heddle.Pin{Network: network, Addr: addr}] = true
	return nil
}

// Reclaim takes an address back, unless another host has it by now.
func (l lender) Reclaim(network string, addr netip.Addr) {
	shared, ok := l.networkByID(network).blocks()
	l.pools.Lock()
	defer l.pools.Unlock()
	delete(l.lent, heddle.Pin{Network: network, Addr: addr})
	if ok && !l.isLent(network, addr) {
		shared.Reclaim(addr)
	}
}

// isLent reports whether the cluster says that another host has, or may have, an
// address of this one's.
func (a *Agent) isLent(network string, addr netip.Addr) bool {
	return slices.ContainsFunc(a.opt.Cluster.View().Lent, func(p heddle.Pin) bool { return p.Network == network && p.Addr == addr })
}

// noticeLent tells of an endpoint's addresses that another host has by the store:
// its record there is stale, or a host wrote what it may not. The endpoint keeps
// them, for it has them.
func (a *Agent) noticeLent(n *network, e heddle.Endpoint) {
	if !n.Shared || a.opt.Cluster == nil {
		return
	}
	for _, addr := range e.Addrs {
		if a.isLent(n.ID, addr.Addr()) {
			a.log.Error("an endpoint's address is another host's by the store; the endpoint keeps it", "endpoint", e.ID, "network", n.Name, "address", addr.Addr())
		}
	}
}

// giveBack returns the addresses that were borrowed from other hosts.
func (a *Agent) giveBack(n *network, addrs []netip.Addr) {
	if !n.Shared || a.opt.Cluster == nil {
		return
	}
	a.pools.Lock()
	defer a.pools.Unlock()
	v := a.opt.Cluster.View()
	for _, addr := range addrs {
		_, held := n.pool.Holder(addr) // by another endpoint, since
		pin := heddle.Pin{Network: n.ID, Addr: addr}
		if !held && !a.moving[pin] && slices.Contains(v.Pins, heddle.Pin{Network: n.ID, Addr: addr, Host: v.Self.ID}) {
			a.opt.Cluster.Return(n.ID, addr)
		}
	}
}

// returnUnused gives back, at the start, what was borrowed for endpoints that are
// no more.
func (a *Agent) returnUnused() {
	v := a.opt.Cluster.View()
	for _, p := range v.Pins {
		if p.Host != v.Self.ID {
			continue
		}
		if n := a.networkByID(p.Network); n != nil {
			if _, held := n.pool.Holder(p.Addr); held {
				continue
			}
		}
		a.opt.Cluster.Return(p.Network, p.Addr)
	}
}

// idleTime is how long a block must have been of no use before it is given back:
// one that was just claimed is for an attach under way.
const idleTime = ipam.Quarantine

// yieldIdle gives back blocks that the host does not need: all of a network that
// is being deleted, or that has had no endpoint here for a while; otherwise those
// that nobody uses, but for the one with the host's own address.
func (a *Agent) yieldIdle(ctx context.Context) {
	for _, n := range a.Networks() {
		if !n.Shared {
			continue
		}
		for _, b := range a.idleBlocks(n) {
			a.yield(ctx, b)
		}
	}
}

// idleBlocks marks the blocks that are about to be yielded, and returns them.
func (a *Agent) idleBlocks(shown heddle.Network) []heddle.Block {
	n := a.networkByID(shown.ID)
	shared, ok := n.blocks()
	if !ok {
		return nil
	}
	unused := len(a.endpointsOn(n.ID)) == 0
	a.pools.Lock()
	defer a.pools.Unlock()
	v := a.opt.Cluster.View()
	if v.Revision == 0 || v.Strange != nil || v.Removed || a.opt.Cluster.Health().State == "down" {
		return nil // without the store, a block given up is not got back
	}
	for _, p := range a.blocksOf(n.ID, v) {
		b := heddle.Block{Network: n.ID, Prefix: p, Host: v.Self.ID}
		leaving := shown.Deleting && unused && !shared.Leased(p)
		if leaving || a.idleLong(b, shared.Idle(p) && (unused || !a.hasSource(n.ID, p))) {
			a.yielding[b] = true
			delete(a.idle, b)
		}
	}
	var all []heddle.Block // also those that could not be yielded before
	for b := range a.yielding {
		if b.Network == n.ID {
			all = append(all, b)
		}
	}
	if len(all) > 0 {
		a.fitLocked(n, v)
	}
	return all
}

// idleLong notes whether a block is of use, and reports whether it has not been
// for idleTime.
func (a *Agent) idleLong(b heddle.Block, idle bool) bool {
	since, known := a.idle[b]
	switch {
	case !idle:
		delete(a.idle, b)
	case !known:
		a.idle[b] = time.Now()
	}
	return idle && known && time.Since(since) >= idleTime
}

func (a *Agent) hasSource(network string, block netip.Prefix) bool {
	for _, s := range a.sources {
		if s.Network == network && block.Contains(s.Addr) {
			return true
		}
	}
	return false
}

// yield gives a block back. Until it is known to be given back, nothing is taken
// from it.
func (a *Agent) yield(ctx context.Context, b heddle.Block) {
	ctx, cancel := waiting(ctx)
	defer cancel()
	if err := a.opt.Cluster.YieldBlock(ctx, b.Network, b.Prefix); err != nil {
		a.log.Debug("block not yielded yet", "block", b.Prefix, "error", err)
		return
	}
	a.pools.Lock()
	defer a.pools.Unlock()
	delete(a.yielding, b)
}
