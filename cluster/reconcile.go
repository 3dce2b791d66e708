package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/heddle-network/heddle/store"
)

// AliveTime is how long a host counts as connected after its last sign.
const AliveTime = 20 * time.Second

// reconcile repairs differences between disk and store until ctx ends. It does nothing while
// nothing changes.
func (c *Cluster) reconcile(ctx context.Context) {
	c.loop(ctx, c.pending, c.reconcileOnce, c.nextExpiry)
}

// keepFence keeps the fence: it writes the host's record whenever the fence is not known.
func (c *Cluster) keepFence(ctx context.Context) {
	c.loop(ctx, c.fenceLost, c.introduce, func() <-chan time.Time { return nil })
}

// loop calls step whenever it is woken, and again after a while if step fails.
func (c *Cluster) loop(ctx context.Context, wake <-chan struct{}, step func(context.Context) error, next func() <-chan time.Time) {
	const first = 100 * time.Millisecond
	pause := first
	for {
		var again <-chan time.Time
		if err := step(ctx); err != nil {
			again = time.After(pause)
			pause = min(2*pause, 2*time.Second)
			c.o.Log.Debug("not all is right with the store yet", "error", err)
		} else {
			pause = first
			again = next()
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-again:
		}
	}
}

// reconcileOnce does the pending work. A step that fails does not stop the others.
func (c *Cluster) reconcileOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	c.mu.Lock()
	idle := !c.accepted || c.cannotWriteLocked() != nil || c.fence == 0
	c.mu.Unlock()
	if idle {
		return nil
	}
	var errs []error
	for _, step := range []func(context.Context) error{c.writeAlive, c.reconcileBlocks, c.dropWants, c.reconcilePins, c.reconcileSent, c.reconcileLent, c.answerAll} {
		errs = append(errs, step(ctx))
	}
	return errors.Join(errs...)
}

// writeAlive shows the others that this host is connected.
func (c *Cluster) writeAlive(ctx context.Context) error {
	c.mu.Lock()
	there := c.record.revisionOf(aliveKey(c.o.Self.Name)) != 0
	c.mu.Unlock()
	if there {
		return nil
	}
	_, _, err := c.commit(ctx, store.Change{Put: []store.Entry{entry(aliveKey(c.o.Self.Name), aliveRecord{c.o.Now().UTC()})}, Lease: int64(AliveTime / time.Second)})
	return err
}

// reconcileBlocks handles blocks about which disk and store differ.
//
//	on disk, not in store: the store went back; claimed again
//	in store, not on disk: a claim or a yield was interrupted; nobody was told of the
//	block, so it is empty. It is written again before it is used, so that no yield that is
//	under way can take effect any more.
//	on disk, and not accepted in the store: written again
func (c *Cluster) reconcileBlocks(ctx context.Context) error {
	var errs []error
	c.mu.Lock()
	changes := map[blockID]store.Change{}
	for b, revision := range c.memory.Held {
		owner, spoiled := c.record.owner(b), c.record.items[blockKey(b.network, b.prefix)].refused != ""
		if c.record.revision < revision || c.creating[b.network] || owner == c.o.Self.ID && !spoiled {
			continue
		}
		n, _ := c.record.network(b.network)
		if n.key != "" && (owner == "" || spoiled && (owner == unknown || owner == c.o.Self.ID)) {
			changes[b] = c.claim(b, n)
			continue
		}
		if n.key == "" && c.record.refuses(b.network) {
			continue // what is wrong with the network's record is reported; nothing is lost
		}
		c.o.Log.Error("a block is no longer this host's", "network", b.network, "block", b.prefix, "owner", c.record.owner(b))
		errs = append(errs, c.updateMemoryLocked(func(m *memory) { delete(m.Held, b) }))
	}
	var yields []blockID
	for _, i := range c.record.items {
		v, is := i.value.(*blockRecord)
		b := blockID{i.addr.network, i.prefix}
		_, known := c.memory.Held[b]
		switch {
		case !is || v.Host != c.o.Self.ID || known || c.creating[b.network] || c.claiming[b]:
		case c.yielding[b]:
			yields = append(yields, b)
		default:
			changes[b] = store.Change{Require: []store.Condition{{Key: i.key, Revision: i.revision}}, Put: []store.Entry{entry(i.key, v)}}
		}
	}
	c.mu.Unlock()
	for b, change := range changes {
		errs = append(errs, c.commitBlock(ctx, b, change))
	}
	for _, b := range yields {
		errs = append(errs, c.deleteBlock(ctx, b))
	}
	return errors.Join(errs...)
}

// commitBlock commits a block for this host and records it.
func (c *Cluster) commitBlock(ctx context.Context, b blockID, change store.Change) error {
	done, revision, err := c.commit(ctx, change)
	if err != nil || !done {
		return err
	}
	return c.recordBlock(b, revision)
}

// recordBlock records a block that was committed at the revision, and which of its addresses
// other hosts have. If the block is not this host's any more, it does nothing.
func (c *Cluster) recordBlock(b blockID, revision int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.record.owner(b) != c.o.Self.ID || c.cannotWriteLocked() != nil || c.yielding[b] {
		return nil
	}
	if have, known := c.memory.Held[b]; known && have >= revision {
		return nil
	}
	return c.updateMemoryLocked(func(m *memory) {
		m.Held[b] = revision
		for _, i := range c.record.items {
			if v, is := i.value.(*pinRecord); is && i.addr.network == b.network && b.prefix.Contains(i.addr.ip) && v.Host != m.Host.ID {
				m.Lent[i.addr] = v.Host
			}
		}
	})
}

// claim is the change that gives a free block to this host.
func (c *Cluster) claim(b blockID, n item) store.Change {
	key := blockKey(b.network, b.prefix)
	change := store.Change{
		Require: []store.Condition{{Key: n.key, Revision: n.revision}, {Key: key, Revision: c.record.revisionOf(key)}},
		Put:     []store.Entry{entry(key, blockRecord{c.o.Self.ID})},
	}
	if old := value[blockRecord](&c.record, key); old != nil { // its host was removed
		gone := removedKey(old.Host)
		change.Require = append(change.Require, store.Condition{Key: gone, Revision: c.record.revisionOf(gone)})
	}
	return change
}

// dropWants takes back requests that nobody waits for.
func (c *Cluster) dropWants(ctx context.Context) error {
	c.mu.Lock()
	var keys []string
	for _, i := range c.record.items {
		if _, is := i.value.(*wantRecord); is && i.host == c.o.Self.Name && !c.borrowing[i.addr] && len(keys) < 100 {
			keys = append(keys, i.key)
		}
	}
	c.mu.Unlock()
	if len(keys) == 0 {
		return nil
	}
	_, _, err := c.commit(ctx, store.Change{Delete: keys})
	return err
}

// reconcilePins gives back the pins that are not on the disk: they were returned, or no caller
// was told that they exist.
func (c *Cluster) reconcilePins(ctx context.Context) error {
	c.mu.Lock()
	change := store.Change{}
	var errs []error
	var used []netAddr
	for p, revision := range c.memory.Pins {
		if c.record.revision >= revision && c.record.revisionOf(pinKey(c.o.Self.Name, p)) == 0 {
			c.o.Log.Error("a borrowed address is no longer this host's", "network", p.network, "address", p.ip)
			errs = append(errs, c.updateMemoryLocked(func(m *memory) { delete(m.Pins, p) }))
		}
	}
	for _, i := range c.record.items {
		v, is := i.value.(*pinRecord)
		_, known := c.memory.Pins[i.addr]
		_, sent := c.memory.Sent[i.addr]
		if is && i.host == c.o.Self.Name && v.Host == c.o.Self.ID && !known && !sent && !c.borrowing[i.addr] && len(change.Delete) < 60 {
			i.deleteBy(&change)
			if c.movedHere(i.addr) && c.memory.Used[i.addr] < i.revision {
				used = append(used, i.addr)
			}
		}
	}
	errs = append(errs, c.recordUsedLocked(used))
	c.mu.Unlock()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if len(change.Delete) > 0 {
		_, _, err := c.commit(ctx, change)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// recordUsedLocked records moves that were used, and forgets those that no longer exist.
func (c *Cluster) recordUsedLocked(used []netAddr) error {
	var gone []netAddr
	for p := range c.memory.Used {
		if !c.movedHere(p) {
			gone = append(gone, p)
		}
	}
	if len(used)+len(gone) == 0 {
		return nil
	}
	return c.updateMemoryLocked(func(m *memory) {
		for _, p := range gone {
			delete(m.Used, p)
		}
		for _, p := range used {
			c.markMoveUsed(m, p)
		}
	})
}
