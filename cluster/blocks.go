package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// ClaimBlock claims a block for this host.
func (c *Cluster) ClaimBlock(ctx context.Context, n heddle.Network, subnet netip.Prefix, near netip.Addr) (netip.Prefix, error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	var draw func(int) int // where the first is free, addresses look sequential
	for {
		if _, err := c.fenced(ctx); err != nil {
			return netip.Prefix{}, err
		}
		b, change, err := c.chooseBlock(n, subnet, near, draw)
		if errors.Is(err, errBusy) {
			if err := c.await(ctx, func() bool { return !c.busyLocked(b) }); err != nil {
				return netip.Prefix{}, err
			}
			continue
		}
		if err != nil || change.Put == nil {
			return b.prefix, err
		}
		err = c.commitBlock(ctx, b, change)
		c.mu.Lock()
		delete(c.claiming, b)
		_, held := c.memory.Held[b]
		c.publishLocked() // wakes those who wait for a change
		c.mu.Unlock()
		c.wake() // reconcile settles a claim whose outcome is unknown
		if held || err != nil {
			return b.prefix, err
		}
		draw = rand.IntN // another host was faster: choose blocks at random to avoid it
	}
}

var errBusy = errors.New("this host gives the block back, or takes it up, just now")

// busyLocked says whether this host has the block in the store but not on the disk, or is about to.
func (c *Cluster) busyLocked(b blockID) bool {
	_, held := c.memory.Held[b]
	return !held && (c.claiming[b] || c.record.owner(b) == c.o.Self.ID)
}

// chooseBlock chooses a block and returns the change that claims it. There is no change if the
// block is this host's already.
func (c *Cluster) chooseBlock(n heddle.Network, subnet netip.Prefix, near netip.Addr, draw func(int) int) (b blockID, change store.Change, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, known := c.record.network(n.ID)
	switch {
	case known == nil:
		return b, change, heddle.Errorf(heddle.NoNetwork, "claim addresses of network", n.Name,
			"the cluster has no such network any more",
			"name another network: 'heddle network list' shows those there are")
	case known.Deleting:
		return b, change, heddle.Errorf(heddle.NetworkLeaving, "claim addresses of network", n.Name,
			"the network is being deleted", "wait until it is gone, and create it again")
	}
	b.network = n.ID
	if near.IsValid() {
		b.prefix = heddle.BlockOf(subnet, near)
		owner := c.record.owner(b)
		if _, held := c.memory.Held[b]; held && owner == c.o.Self.ID {
			return b, change, nil
		}
		if c.busyLocked(b) {
			return b, change, errBusy
		}
		if owner != "" {
			return b, change, heddle.Errorf(heddle.AddressTaken, "claim block", b.prefix.String()+" of network "+n.Name,
				"host "+c.record.hostName(owner)+" has it", "choose an address of another block")
		}
	} else {
		taken := map[netip.Prefix]bool{}
		for _, i := range c.record.items {
			other := blockID{i.addr.network, i.prefix}
			if _, is := i.value.(*blockRecord); is && other.network == n.ID && c.record.owner(other) != "" {
				taken[i.prefix] = true
			}
		}
		for other := range c.claiming {
			taken[other.prefix] = taken[other.prefix] || other.network == n.ID
		}
		var free bool
		if b.prefix, free = freeBlock(*known, subnet, taken, draw); !free {
			return b, change, heddle.Errorf(heddle.PoolExhausted, "claim addresses of network", n.Name, "all blocks of the subnet "+subnet.String()+" are with hosts",
				"detach endpoints, or create a network with a larger subnet")
		}
	}
	c.claiming[b] = true
	return b, c.claim(b, entry), nil
}

// YieldBlock gives a block back. The block leaves the disk first, so that a host that
// starts again never uses it. reconcileBlocks cleans up after a crash.
func (c *Cluster) YieldBlock(ctx context.Context, network string, block netip.Prefix) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	b := blockID{network, block.Masked()}
	if err := c.dropBlock(b); err != nil {
		return err
	}
	for {
		c.mu.Lock()
		pending := c.yielding[b]
		c.mu.Unlock()
		if !pending {
			return nil
		}
		if err := c.deleteBlock(ctx, b); err != nil {
			return err // reconcile goes on with it
		}
	}
}

// dropBlock removes a block from the disk, so that it is only in the store.
func (c *Cluster) dropBlock(b blockID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.yielding[b] {
		return nil
	}
	if err := c.cannotWriteLocked(); err != nil {
		return err
	}
	if _, held := c.memory.Held[b]; !held {
		return nil
	}
	for _, p := range lentOut(c.memory, c.view.Load().Pins) {
		if p.Network == b.network && b.prefix.Contains(p.Addr) {
			return heddle.Errorf(heddle.AddressTaken, "give back block", b.prefix.String(), "host "+c.record.hostName(p.Host)+" has its address "+p.Addr.String(),
				"wait until that host returns the address")
		}
	}
	if err := c.updateMemoryLocked(func(m *memory) { delete(m.Held, b) }); err != nil {
		return err
	}
	c.yielding[b] = true
	return nil
}

// deleteBlock deletes from the store a block that dropBlock has removed from the disk.
func (c *Cluster) deleteBlock(ctx context.Context, b blockID) error {
	key := blockKey(b.network, b.prefix)
	c.mu.Lock()
	if c.record.revision == 0 {
		c.mu.Unlock()
		if _, err := c.fenced(ctx); err != nil {
			return err
		}
		c.mu.Lock()
	}
	revision, mine := c.record.revisionOf(key), c.record.owner(b) == c.o.Self.ID
	if !mine {
		delete(c.yielding, b)
	}
	c.mu.Unlock()
	if !mine {
		return nil
	}
	_, _, err := c.commit(ctx, store.Change{Require: []store.Condition{{Key: key, Revision: revision}}, Delete: []string{key}})
	return err
}
