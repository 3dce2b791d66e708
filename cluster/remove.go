package cluster

import (
	"context"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// RemoveHost takes a host out: its record goes first, in the change that says so,
// and with it the host can change nothing any more. Its blocks are free from then
// on, whether they are deleted yet or not.
func (c *Cluster) RemoveHost(ctx context.Context, operator store.Store, name string, force bool) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	for {
		s, err := operator.Read(ctx, Prefix)
		if err != nil {
			return err
		}
		r := c.recordOf(s, c.View())
		self := r.items[selfKey(name)]
		if self.key == "" {
			return c.clear(ctx, operator, &r, name)
		}
		host, named := self.value.(*hostRecord)
		if !named {
			// what it says is not taken on, its id neither: that may be another host's
			host = &hostRecord{}
		}
		if r.revisionOf(aliveKey(name)) != 0 && !force {
			return heddle.Errorf(heddle.HostAlive, "remove host", name+", which is connected to the store",
				"stop its agent first, and detach its endpoints: their addresses are given to others; --force removes it all the same")
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
			return c.drop(ctx, operator, &r, host.ID, revision)
		}
	}
}

// recordOf is what a snapshot that an operator read says; seen is what this host knows.
func (c *Cluster) recordOf(s store.Snapshot, seen *View) record {
	r := record{self: seen.Self.Name, fits: c.o.Fits, known: seen.Peers}
	r.apply(store.Event{Revision: s.Revision, Snapshot: true, Entries: s.Entries})
	return r
}

// removal says that a host with that ID was removed; without an ID there is nothing to
// say.
func removal(id, name string, now time.Time) []store.Entry {
	if id == "" {
		return nil
	}
	return []store.Entry{put(removedKey(id), removedRecord{name, now.UTC()})}
}

// clear finishes a removal that was cut off.
func (c *Cluster) clear(ctx context.Context, operator store.Store, r *record, name string) error {
	found := false
	for key, i := range r.items {
		if v, is := i.value.(*removedRecord); is && v.Name == name {
			found = true
			if err := c.drop(ctx, operator, r, key[len(removedKey("")):], i.revision); err != nil {
				return err
			}
		}
	}
	if !found {
		return heddle.Errorf(heddle.NoHost, "remove host", name, "'heddle host list' shows those there are")
	}
	return nil
}

// drop deletes the blocks of a host that was removed at the revision, but for those
// that somebody has claimed since, each for itself; and waits until the view shows
// it. It waits for its own changes, not for those of the store: keys that are not
// ours advance it, too.
func (c *Cluster) drop(ctx context.Context, operator store.Store, r *record, id string, revision int64) error {
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
	return c.saw(ctx, revision)
}
