package cluster

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// saveEvery bounds how often a view is written to the disk if nothing depends on it.
const saveEvery = 3 * time.Second

// follow takes in what happens in the store until ctx ends.
func (c *Cluster) follow(ctx context.Context) {
	events := c.o.Store.Watch(ctx, Prefix)
	save := time.NewTimer(saveEvery)
	defer save.Stop()
	for {
		select {
		case e, open := <-events:
			if !open {
				return
			}
			all := []store.Event{e}
			for more := true; more && len(all) < 64; {
				select {
				case e, open := <-events:
					if more = open; open {
						all = append(all, e)
					}
				default:
					more = false
				}
			}
			if c.take(all) {
				save.Reset(saveEvery)
			}
		case <-save.C:
			c.saveSeen()
		}
	}
}

// take applies events and reports whether the view has changed.
func (c *Cluster) take(events []store.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	onlyNames, names := true, false
	for _, e := range events {
		if e.Snapshot && e.Revision < max(c.record.revision, c.memory.Seen) {
			c.forgetRevisions(e.Revision)
		}
		rest, others := c.takeNamesLocked(e)
		names = names || others
		if !rest.Snapshot && len(rest.Entries)+len(rest.Deleted) == 0 {
			c.record.revision = e.Revision
			continue
		}
		onlyNames = false
		c.record.take(rest)
		c.noteTakenLocked(rest)
		c.checkStore()
	}
	if names {
		signal(c.namesChanged)
	}
	if len(c.own.open) > 0 {
		signal(c.namesPending)
	}
	if onlyNames {
		c.advanceLocked()
		return false
	}
	if c.record.changedAll {
		c.reopenNamesLocked() // of networks that came or went
	}
	c.record.validate()
	c.detectRollback()
	c.detectDuplicate()
	c.detectRemoval()
	changed := c.publishLocked()
	c.wake()
	return changed
}

// forgetRevisions forgets the revisions of all commits: the store went back to an earlier state, as
// after a restore from a backup. What this host holds must be claimed again.
func (c *Cluster) forgetRevisions(revision int64) {
	c.o.Log.Warn("the store went back to an earlier state", "revision", revision, "last seen", c.memory.Seen)
	if c.memory.Cluster == "" {
		return
	}
	c.fence = 0
	for b := range c.memory.Held {
		c.memory.Held[b] = 0
	}
	for p := range c.memory.Pins {
		c.memory.Pins[p] = 0
	}
	c.memory.Seen = revision
}

// detectRemoval records on the disk that the host was removed: from now on the store does
// not let the host in, and so cannot tell it again.
func (c *Cluster) detectRemoval() {
	if !c.accepted || c.memory.Removed || !c.record.isRemoved(c.memory) {
		return
	}
	if err := c.updateMemoryLocked(func(m *memory) { m.Removed = true }); err != nil {
		c.o.Log.Error("that the host was removed is not recorded", "error", err)
	}
}

// checkStore decides whether the store is that of our cluster.
func (c *Cluster) checkStore() {
	found := value[clusterRecord](&c.record, clusterKey)
	was := c.wrongStore
	c.wrongStore, c.accepted = c.duplicate, c.duplicate == nil
	switch {
	case c.memory.Cluster == "" || c.duplicate != nil:
	case found == nil:
		c.wrongStore = heddle.Errorf(heddle.StoreStrange, "use store of cluster", c.memory.Cluster, "the store has no record of this cluster: it lost its data, or is another store",
			"restore it from a backup, or point --store to the right one")
	case found.ID != c.memory.Cluster:
		c.wrongStore = heddle.Errorf(heddle.StoreStrange, "use store of cluster", c.memory.Cluster, "the store is that of cluster "+found.ID,
			"point --store to the right one; to change the cluster, move the host's state folder away")
	}
	if c.wrongStore != nil {
		c.accepted = false
		c.fence = 0
	}
	if c.wrongStore != nil && was == nil {
		c.o.Log.Error("the store is not this host's; nothing is changed in it", "error", c.wrongStore)
	}
}

// detectRollback detects that the store has an earlier record of this host, or none: it
// went back to an earlier state. The revision does not show this, since etcd can raise it
// and others may have made changes since. The old fence could not change anything any
// more.
func (c *Cluster) detectRollback() {
	if !c.accepted || c.fence == 0 || c.isRemovedLocked() || c.record.revisionOf(selfKey(c.o.Self.Name)) >= c.fence {
		return
	}
	c.o.Log.Warn("the store went back to before this host's start; the host introduces itself again", "revision", c.record.revision)
	c.fence = 0
}

// detectDuplicate detects another agent with this host's identity.
func (c *Cluster) detectDuplicate() {
	self := c.record.items[selfKey(c.o.Self.Name)]
	h, is := self.value.(*hostRecord)
	if !c.accepted || !is || h.ID != c.o.Self.ID || c.fence == 0 || self.revision <= c.fence {
		return
	}
	if h.Run == c.run {
		c.fence = self.revision // the answer to this renewal was lost
		return
	}
	c.duplicate = heddle.Errorf(heddle.HostExists, "use cluster as host", c.o.Self.Name+" with ID "+c.o.Self.ID, "another agent runs as this host: the state folder was copied",
		"stop one of the two agents, and move its state folder away")
	c.wrongStore, c.accepted, c.fence = c.duplicate, false, 0
	c.o.Log.Error("two agents are one host", "error", c.duplicate)
}

// publishLocked makes the view anew and reports whether anything in it has changed.
func (c *Cluster) publishLocked() bool {
	old := c.view.Load()
	next := *old
	switch {
	case c.accepted:
		next = *c.record.view(c.memory, old.Peers)
	case c.record.revision == 0:
		next = *viewFromMemory(c.memory)
	}
	next.Strange = c.wrongStore
	c.view.Store(&next)
	close(c.updated)
	c.updated = make(chan struct{})
	same := next
	same.Revision = old.Revision
	if (old.Revision == 0) == (next.Revision == 0) && reflect.DeepEqual(&same, old) {
		return false
	}
	c.unsaved = true
	c.views++
	signal(c.changed)
	if len(c.names.byNetwork) > 0 {
		signal(c.namesChanged)
	}
	return true
}

// advanceLocked makes the view one of the record's revision, in which nothing else has changed.
func (c *Cluster) advanceLocked() {
	if old := c.view.Load(); c.accepted && old.Revision > 0 {
		next := *old
		next.Revision = c.record.revision
		c.view.Store(&next)
	}
	close(c.updated)
	c.updated = make(chan struct{})
}

// signal sends on a channel with a capacity of one, unless a signal is waiting there already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wake starts the next round of what runs in the background.
func (c *Cluster) wake() {
	for _, one := range []chan struct{}{c.pending, c.fenceLost, c.namesPending} {
		signal(one)
	}
}

// await waits until ok returns true. It calls ok with the lock held.
func (c *Cluster) await(ctx context.Context, ok func() bool) error {
	for {
		c.mu.Lock()
		done, news := ok(), c.updated
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-news:
		case <-c.ctx.Done():
			return heddle.Errorf(heddle.Stopping, "wait for", "the store", "",
				"call again when the agent is back")
		case <-ctx.Done():
			return heddle.Errorf(heddle.StoreDown, "wait for", "the store", "it did not answer in time",
				"look at its members with 'heddle status', and try again")
		}
	}
}

// awaitRevision waits until the view has the revision or a later one.
func (c *Cluster) awaitRevision(ctx context.Context, revision int64) error {
	return c.await(ctx, func() bool { return c.record.revision >= revision })
}

// updateMemoryLocked changes the memory, on the disk first.
func (c *Cluster) updateMemoryLocked(change func(m *memory)) error {
	next := c.memory.clone()
	change(&next)
	if c.accepted {
		next.Last, next.Seen = c.view.Load().Fabric, c.record.revision
		next.Last.Peers = slices.Clone(next.Last.Peers)
	}
	if err := saveMemory(c.o.StateDir, next); err != nil {
		return err
	}
	c.memory, c.unsaved = next, false
	c.publishLocked()
	return nil
}

func (c *Cluster) saveSeen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.unsaved || !c.accepted {
		return
	}
	if err := c.updateMemoryLocked(func(m *memory) {}); err != nil {
		c.o.Log.Warn("what was seen of the cluster is not kept", "error", err)
	}
}
