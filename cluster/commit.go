package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// defaultTimeout bounds an operation if its caller sets no bound.
const defaultTimeout = 5 * time.Second

func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, defaultTimeout)
}

// commit makes a change of this host, fenced by its own record. When it returns without
// error, the record shows the result, also if the change was refused: then the caller
// looks again.
//
// If the answer to a change was lost, reading cannot tell whether the change was made: it
// may still be under way. Therefore the fence is renewed first. After that, the change is
// there or it never comes.
func (c *Cluster) commit(ctx context.Context, change store.Change) (done bool, revision int64, err error) {
	fence, err := c.fenced(ctx)
	if err != nil {
		return false, 0, err
	}
	if err := c.checkPermission(ctx, change); err != nil {
		return false, 0, err
	}
	change.Require = append([]store.Condition{{Key: selfKey(c.o.Self.Name), Revision: fence}}, change.Require...)
	done, revision, err = c.o.Store.Commit(ctx, change)
	if err == nil {
		return done, revision, c.awaitResult(ctx, change, done, revision)
	}
	if errors.Is(err, heddle.StoreRefused.Sentinel()) || errors.Is(err, heddle.StoreFull.Sentinel()) || errors.Is(err, heddle.BadArgument.Sentinel()) {
		return false, 0, err
	}
	if settled := c.renewFence(ctx, fence); settled != nil {
		return false, 0, err
	}
	return false, 0, nil
}

// checkPermission returns why this host may not make a change: it writes networks only with an
// operator's permission. This is asked before the store is, because the store does not say
// whose permission is missing.
func (c *Cluster) checkPermission(ctx context.Context, change store.Change) error {
	ofNetworks := func(key string) bool { return strings.HasPrefix(key, networksKey) }
	if c.o.MayWriteNetworks == nil || !slices.ContainsFunc(change.Put, func(e store.Entry) bool { return ofNetworks(e.Key) }) && !slices.ContainsFunc(change.Delete, ofNetworks) {
		return nil
	}
	return c.o.MayWriteNetworks(ctx)
}

// awaitResult waits until the record shows the result of a change: that it was made, or why it
// was refused. The record may never reach the revision of a refusal, since keys that are
// not ours advance the revision, too. But then the change's conditions no longer hold, and
// the record comes to show that, or it passes the revision.
func (c *Cluster) awaitResult(ctx context.Context, change store.Change, done bool, revision int64) error {
	if done {
		return c.awaitRevision(ctx, revision)
	}
	return c.await(ctx, func() bool { return c.record.revision >= revision || !c.record.holds(change.Require) })
}

// fenced waits until the host may change something, and returns the revision of
// its own record.
func (c *Cluster) fenced(ctx context.Context) (fence int64, err error) {
	waited := c.await(ctx, func() bool {
		err = c.cannotWriteLocked()
		fence = c.fence
		return err != nil || fence != 0
	})
	switch {
	case err != nil || waited == nil:
	case c.ctx.Err() != nil:
		err = waited
	default:
		err = heddle.Errorf(heddle.StoreDown, "reach", "the store", c.o.Store.Health().Cause,
			"look at its members with 'heddle status', and try again")
	}
	return fence, err
}

// cannotWriteLocked returns why this host may change nothing.
func (c *Cluster) cannotWriteLocked() error {
	switch {
	case c.wrongStore != nil:
		return c.wrongStore
	case c.isRemovedLocked():
		return RemovedError(c.o.Self.Name)
	default:
		return nil
	}
}

// isRemovedLocked says whether the host was removed from the cluster, even if the store has lost
// that record since.
func (c *Cluster) isRemovedLocked() bool {
	return c.memory.Removed || c.accepted && c.record.isRemoved(c.memory)
}

// RemovedError tells a host that it was removed from the cluster, and how it can join
// again.
func RemovedError(host string) error {
	return heddle.Errorf(heddle.HostRemoved, "use cluster as host", host,
		"an operator removed this host from the cluster",
		"detach its endpoints, move its state folder away, and join again with a new token")
}

// renewFence renews the fence after a change with an unknown outcome.
func (c *Cluster) renewFence(ctx context.Context, fence int64) error {
	c.mu.Lock()
	if c.fence == fence {
		c.fence = 0
	}
	c.mu.Unlock()
	c.wake()
	_, err := c.fenced(ctx)
	return err
}

// introduce writes this host's record if the fence is not known. After that, no change
// under an earlier fence, or of an earlier run of the agent, can take effect.
func (c *Cluster) introduce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	c.mu.Lock()
	if !c.accepted || c.cannotWriteLocked() != nil || c.fence != 0 {
		c.mu.Unlock()
		return nil
	}
	change, err := c.introduction()
	c.mu.Unlock()
	if err == nil {
		var revision int64
		var done bool
		if done, revision, err = c.o.Store.Commit(ctx, change); err == nil {
			err = c.awaitResult(ctx, change, done, revision)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		err = c.introduced()
	}
	if c.introduceError = err; err != nil {
		c.publishLocked() // wakes those who wait for a change
	}
	return err
}

// introduced records the fence, if the host's record is from this run.
func (c *Cluster) introduced() error {
	key := selfKey(c.o.Self.Name)
	self, found := value[hostRecord](&c.record, key), value[clusterRecord](&c.record, clusterKey)
	if c.cannotWriteLocked() != nil || found == nil {
		return nil
	}
	if self == nil || self.Run != c.run {
		return heddle.Errorf(heddle.StoreDown, "write record of host", c.o.Self.Name, "the record changed meanwhile",
			"wait: the agent writes it again")
	}
	if !c.memory.Introduced {
		if err := c.updateMemoryLocked(func(m *memory) { m.Cluster, m.Introduced = found.ID, true }); err != nil {
			return err
		}
	}
	c.fence = c.record.revisionOf(key)
	c.publishLocked()
	c.wake()
	return nil
}

// introduction is the change that writes this host's record, and the cluster's record if
// there is none.
func (c *Cluster) introduction() (store.Change, error) {
	r, name := &c.record, c.o.Self.Name
	self := r.items[selfKey(name)]
	if h, is := self.value.(*hostRecord); is && h.ID != c.o.Self.ID {
		return store.Change{}, heddle.Errorf(heddle.HostExists, "join cluster as host", name, "a host of that name has the ID "+h.ID+", and this one has "+c.o.Self.ID,
			"choose another name with --name; if it is this host, installed anew, remove the old one first ('heddle host remove "+name+"')")
	}
	if old, at, found := r.hostWithAddress(c.o.Self); found && !c.memory.Introduced { // no host would accept it as a peer
		return store.Change{}, heddle.Errorf(heddle.HostExists, "join cluster as host", name, "host "+old.Name+" has the underlay address "+at.String(),
			"choose another address with --underlay; if "+old.Name+" is gone, or was this host before it was installed anew, remove it first ('heddle host remove "+old.Name+"')")
	}
	change := store.Change{
		Require: []store.Condition{{Key: selfKey(name), Revision: self.revision}, {Key: removedKey(c.o.Self.ID)}, {Key: clusterKey, Revision: r.revisionOf(clusterKey)}},
		Put:     []store.Entry{entry(selfKey(name), hostRecord{c.o.Self, c.run})},
	}
	if value[clusterRecord](r, clusterKey) == nil {
		id := randomID()
		change.Put = append(change.Put, entry(clusterKey, clusterRecord{ID: id, VNI: heddle.VNIOf(id), Port: c.o.Port, Ranges: c.o.Ranges}))
	}
	return change, nil
}
