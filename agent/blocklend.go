package agent

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// Lend sets an address aside, or says who has it.
func (bs *blocks) Lend(network string, addr netip.Addr) error {
	shared, ok := bs.networks.byID(network).blocks()
	if !ok {
		return noNetwork(network)
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if err := shared.Lend(addr, "another host"); err != nil {
		return err
	}
	bs.lent[heddle.Pin{Network: network, Addr: addr}] = true
	return nil
}

// Reclaim takes an address back, unless another host has it by now.
func (bs *blocks) Reclaim(network string, addr netip.Addr) {
	shared, ok := bs.networks.byID(network).blocks()
	bs.mu.Lock()
	defer bs.mu.Unlock()
	delete(bs.lent, heddle.Pin{Network: network, Addr: addr})
	if ok && !bs.isLent(network, addr) {
		shared.Reclaim(addr)
	}
}

// isLent reports whether the cluster says that another host has, or may have, an
// address of this one's.
func (bs *blocks) isLent(network string, addr netip.Addr) bool {
	return slices.ContainsFunc(bs.cluster.View().Lent, func(p heddle.Pin) bool { return p.Network == network && p.Addr == addr })
}

// reportLent reports an endpoint's addresses that belong to another host according to the
// store: the record there is stale, or a host wrote what it may not. The endpoint keeps
// the addresses, because it already uses them.
func (bs *blocks) reportLent(n *network, e heddle.Endpoint) {
	if !n.Shared || bs.cluster == nil {
		return
	}
	for _, addr := range e.Addrs {
		if bs.isLent(n.ID, addr.Addr()) {
			bs.log.Error("an endpoint's address is another host's by the store; the endpoint keeps it", "endpoint", e.ID, "network", n.Name, "address", addr.Addr())
		}
	}
}

// returnBorrowed returns the addresses that were borrowed from other hosts.
func (bs *blocks) returnBorrowed(n *network, addrs []netip.Addr) {
	if !n.Shared || bs.cluster == nil {
		return
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	v := bs.cluster.View()
	for _, addr := range addrs {
		_, held := n.pool.Holder(addr) // by another endpoint, since
		pin := heddle.Pin{Network: n.ID, Addr: addr}
		if !held && !bs.moving[pin] && slices.Contains(v.Pins, heddle.Pin{Network: n.ID, Addr: addr, Host: v.Self.ID}) {
			bs.cluster.Return(n.ID, addr)
		}
	}
}

// returnUnused gives back, at start, the addresses that were borrowed for endpoints that no
// longer exist.
func (bs *blocks) returnUnused() {
	v := bs.cluster.View()
	for _, p := range v.Pins {
		if p.Host != v.Self.ID {
			continue
		}
		if n := bs.networks.byID(p.Network); n != nil {
			if _, held := n.pool.Holder(p.Addr); held {
				continue
			}
		}
		bs.cluster.Return(p.Network, p.Addr)
	}
}

// idleTime is how long a block must have been unused before it is given back: a block that
// was just claimed is for an attach under way.
const idleTime = ipam.Quarantine

// yieldIdle gives back blocks that the host does not need: all of a network that
// is being deleted, or that has had no endpoint here for a while; otherwise those
// that nobody uses, but for the one with the host's own address.
func (bs *blocks) yieldIdle(ctx context.Context) {
	for _, n := range bs.networks.all() {
		if !n.Shared {
			continue
		}
		for _, b := range bs.idleBlocks(n) {
			bs.yield(ctx, b)
		}
	}
}

// idleBlocks marks the blocks that are about to be yielded, and returns them.
func (bs *blocks) idleBlocks(shown heddle.Network) []heddle.Block {
	n := bs.networks.byID(shown.ID)
	shared, ok := n.blocks()
	if !ok {
		return nil
	}
	unused := bs.records.noneOn(n.ID)
	bs.mu.Lock()
	defer bs.mu.Unlock()
	v := bs.cluster.View()
	if v.Revision == 0 || v.Strange != nil || v.Removed || bs.cluster.Health().State == "down" {
		return nil // without the store, a block given up is not got back
	}
	for _, p := range bs.blocksOfLocked(n.ID, v) {
		b := heddle.Block{Network: n.ID, Prefix: p, Host: v.Self.ID}
		leaving := shown.Deleting && unused && !shared.Leased(p)
		if leaving || bs.idleLongLocked(b, shared.Idle(p) && (unused || !bs.hasSourceLocked(n.ID, p))) {
			bs.yielding[b] = true
			delete(bs.idle, b)
		}
	}
	var all []heddle.Block // also those that could not be yielded before
	for b := range bs.yielding {
		if b.Network == n.ID {
			all = append(all, b)
		}
	}
	if len(all) > 0 {
		bs.fitPoolLocked(n, v)
	}
	return all
}

// idleLongLocked notes whether a block is idle now, and reports whether it has been idle
// for idleTime.
func (bs *blocks) idleLongLocked(b heddle.Block, idle bool) bool {
	since, known := bs.idle[b]
	switch {
	case !idle:
		delete(bs.idle, b)
	case !known:
		bs.idle[b] = time.Now()
	}
	return idle && known && time.Since(since) >= idleTime
}

func (bs *blocks) hasSourceLocked(network string, block netip.Prefix) bool {
	for _, s := range bs.sources {
		if s.Network == network && block.Contains(s.Addr) {
			return true
		}
	}
	return false
}

// yield gives a block back. Until it is known to be given back, nothing is taken
// from it.
func (bs *blocks) yield(ctx context.Context, b heddle.Block) {
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	if err := bs.cluster.YieldBlock(ctx, b.Network, b.Prefix); err != nil {
		bs.log.Debug("block not yielded yet", "block", b.Prefix, "error", err)
		return
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	delete(bs.yielding, b)
}
