package cluster

import (
	"context"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// RemoveHost removes a host from the cluster. The change that records the removal also
// deletes the host's record; after that the host cannot change anything. Its blocks are
// free from then on, even before they are deleted.
func (c *Cluster) RemoveHost(ctx context.Context, operator store.Store, name string, force bool) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	for {
		s, err := operator.Read(ctx, Prefix)
		if err != nil {
			return err
		}
		r := c.recordOf(s, c.View())
		self := r.items[selfKey(name)]
		if self.key == "" {
			return c.finishRemoval(ctx, operator, &r, name)
		}
		host, named := self.value.(*hostRecord)
		if !named {
			// what the record says is not accepted, and neither is its ID, which may be another
			// host's
			host = &hostRecord{}
		}
		if r.revisionOf(aliveKey(name)) != 0 && !force {
			return heddle.Errorf(heddle.HostAlive, "remove host", name, "it is connected to the store",
				"if it is to go, detach its endpoints, since others get their addresses, and stop its agent; --force removes it all the same")
		}
		done, revision, err := operator.Commit(ctx, store.Change{
			Require:      []store.Condition{{Key: self.key, Revision: self.revision}},
			DeletePrefix: []string{hostKeys(name)},
			Put:          removal(host.ID, name, c.o.Now()),
		})
		if err != nil {
			return err
		}
		if done {
			r.items[removedKey(host.ID)] = item{}
			return c.deleteBlocksOf(ctx, operator, &r, host.ID, revision)
		}
	}
}

// recordOf makes a record of a snapshot that an operator read; seen is this host's view.
func (c *Cluster) recordOf(s store.Snapshot, seen *View) record {
	r := record{self: seen.Self.Name, fits: c.o.Fits, knownPeers: seen.Peers}
	r.apply(store.Event{Revision: s.Revision, Snapshot: true, Entries: s.Entries})
	return r
}

// removal records that the host with the ID was removed. Without an ID there is nothing to
// record.
func removal(id, name string, now time.Time) []store.Entry {
	if id == "" {
		return nil
	}
	return []store.Entry{entry(removedKey(id), removedRecord{name, now.UTC()})}
}

// finishRemoval finishes an interrupted removal.
func (c *Cluster) finishRemoval(ctx context.Context, operator store.Store, r *record, name string) error {
	found := false
	for key, i := range r.items {
		if v, is := i.value.(*removedRecord); is && v.Name == name {
			found = true
			if err := c.deleteBlocksOf(ctx, operator, r, key[len(removedKey("")):], i.revision); err != nil {
				return err
			}
		}
	}
	if !found {
		return heddle.Errorf(heddle.NoHost, "remove host", name, "",
			"name another host: 'heddle host list' shows those there are")
	}
	return nil
}

// deleteBlocksOf deletes the blocks of a host that was removed at the revision, each in its own
// change, except those that another host has claimed since. Then it waits until the view
// shows it. It waits for its own changes and not for the store's revision, which keys that
// are not ours advance, too.
func (c *Cluster) deleteBlocksOf(ctx context.Context, operator store.Store, r *record, id string, revision int64) error {
	for _, i := range r.items {
		if v, is := i.value.(*blockRecord); is && id != "" && v.Host == id {
			done, at, err := operator.Commit(ctx, store.Change{Require: []store.Condition{{Key: i.key, Revision: i.revision}}, Delete: []string{i.key}})
			if err != nil {
				return err
			}
			if done {
				revision = max(revision, at)
			}
		}
	}
	if c.o.Self.ID == id {
		return nil
	}
	return c.awaitRevision(ctx, revision)
}
