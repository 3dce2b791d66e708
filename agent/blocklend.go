package agent

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// Lend sets an address aside for another host, or returns who has it.
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

// isLent reports whether, by the cluster's view, another host has or may have an address of this
// host.
func (bs *blocks) isLent(network string, addr netip.Addr) bool {
	return slices.ContainsFunc(bs.cluster.View().Lent, func(p heddle.Pin) bool { return p.Network == network && p.Addr == addr })
}

// reportLent logs an endpoint's addresses that belong to another host by the store's records: the
// record is stale, or a host wrote what it may not. The endpoint keeps the addresses, because it
// already uses them.
func (bs *blocks) reportLent(n *network, e heddle.Endpoint) {
	if !n.Shared || bs.cluster == nil {
		return
	}
	for _, addr := range e.Addrs {
		if bs.isLent(n.ID, addr.Addr()) {
			bs.log.Error("an endpoint's address is another host's by the store; the endpoint keeps it",
				"endpoint", e.ID, "network", n.Name, "address", addr.Addr())
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
		_, held := n.pool.Holder(addr) // another endpoint may have it now
		pin := heddle.Pin{Network: n.ID, Addr: addr}
		if !held && !bs.moving[pin] && slices.Contains(v.Pins, heddle.Pin{Network: n.ID, Addr: addr, Host: v.Self.ID}) {
			bs.cluster.Return(n.ID, addr)
		}
	}
}

// returnUnused gives back, at start, the addresses that were borrowed for endpoints that no longer
// exist.
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

// idleTime is how long a block must be unused before it is given back. A block that was just
// claimed is for an attach under way.
const idleTime = ipam.Quarantine

// yieldIdle gives back blocks that the host does not need. If a network is being deleted, or has
// had no endpoint here for a while, these are all its blocks. Otherwise they are the unused ones,
// except for the block with the host's own address.
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

// idleBlocks marks the blocks that are to be given back, and returns them.
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
		return nil // without the store, a block that was given up cannot be claimed again
	}
	for _, p := range bs.blocksOfLocked(n.ID, v) {
		b := heddle.Block{Network: n.ID, Prefix: p, Host: v.Self.ID}
		leaving := shown.Deleting && unused && !shared.Leased(p)
		if leaving || bs.idleLongLocked(b, shared.Idle(p) && (unused || !bs.hasSourceLocked(n.ID, p))) {
			bs.yielding[b] = true
			delete(bs.idle, b)
		}
	}
	var all []heddle.Block // also those that could not be given back before
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

// yield gives a block back. Nothing is taken from the block until the store has confirmed that.
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
