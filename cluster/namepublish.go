package cluster

import (
	"context"
	"time"

	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/store"
)

// namesInChange is how many names are written in one transaction.
const namesInChange = 100

// ownNames are the names of this host's endpoints: what the store is to have.
type ownNames struct {
	// given says that they are known: until then, those in the store stay.
	given bool
	// byNetwork has the records by network ID and key.
	byNetwork map[string]map[string]nameRecord
	// open are the keys that may differ in the store.
	open map[string]bool
}

// SetNames says which names this host's endpoints have on the given networks: the others stay as
// they were said before. The first call says it of all networks. The names are published in the
// background, as soon as the store is there and has the network.
func (c *Cluster) SetNames(networks map[string][]names.Endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.own
	if !o.given {
		o.given = true
		c.reopenNamesLocked()
	}
	for network, all := range networks {
		next := map[string]nameRecord{}
		for _, e := range all {
			if e.Name == "" && len(e.Aliases) == 0 || len(e.Addrs) == 0 {
				continue
			}
			r := nameRecord{c.o.Self.ID, e.Name, e.Aliases, e.Addrs, e.Ports}
			if why := r.check(e.ID); why != "" {
				c.o.Log.Error("a name is not published", "endpoint", e.ID, "error", why)
				continue
			}
			next[nameKey(c.o.Self.Name, network, e.ID)] = r
		}
		for key, r := range o.byNetwork[network] {
			if now, there := next[key]; !there || !now.equal(r) {
				o.open[key] = true
			}
		}
		for key := range next {
			if _, there := o.byNetwork[network][key]; !there {
				o.open[key] = true
			}
		}
		if o.byNetwork[network] = next; len(next) == 0 {
			delete(o.byNetwork, network)
		}
	}
	if len(o.open) > 0 {
		signal(c.namesPending)
	}
}

// reopenNamesLocked has all names of this host compared with the store.
func (c *Cluster) reopenNamesLocked() {
	for _, key := range c.names.keysOf(c.o.Self.Name) {
		c.own.open[key] = true
	}
	for _, all := range c.own.byNetwork {
		for key := range all {
			c.own.open[key] = true
		}
	}
}

// publishNames writes the names that differ in the store until ctx ends.
func (c *Cluster) publishNames(ctx context.Context) {
	c.loop(ctx, c.namesPending, c.publishNamesOnce, func() <-chan time.Time { return nil })
}

func (c *Cluster) publishNamesOnce(ctx context.Context) error {
	for ctx.Err() == nil {
		change := c.namesChange()
		if len(change.Put)+len(change.Delete) == 0 {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
		_, _, err := c.commit(ctx, change)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// namesChange is the next change that brings the store in line with this host's names. Keys that
// are in line are not looked at again.
func (c *Cluster) namesChange() (change store.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.own.given || !c.accepted || c.cannotWriteLocked() != nil || c.fence == 0 {
		return change
	}
	published := c.names.accepted[c.o.Self.Name]
	for key := range c.own.open {
		_, network, _, _ := isName(key)
		want, wanted := c.own.byNetwork[network][key]
		if _, n := c.record.network(network); n == nil {
			wanted = false // as soon as the store has the network, it is looked at again
		}
		has := c.names.get(key)
		switch {
		case len(change.Put)+len(change.Delete) >= namesInChange:
			return change
		case wanted && has == nil && published >= MaxNames:
			c.o.Log.Error("a name is not published: this host has too many", "key", key, "names", published)
			delete(c.own.open, key)
		case wanted && (has == nil || has.refused != "" || !has.said.equal(want)):
			change.Put = append(change.Put, entry(key, want))
			published++
		case !wanted && has != nil:
			change.Delete = append(change.Delete, key)
		default:
			delete(c.own.open, key)
		}
	}
	return change
}

// takeNamesLocked takes in the names of an event, and returns the event without them.
func (c *Cluster) takeNamesLocked(e store.Event) (rest store.Event, others bool) {
	t := &c.names
	if e.Snapshot || t.byNetwork == nil {
		t.clear()
	}
	rest = store.Event{Revision: e.Revision, Snapshot: e.Snapshot}
	for _, key := range e.Deleted {
		if !t.remove(key) {
			rest.Deleted = append(rest.Deleted, key)
		} else {
			others = c.noteName(key) || others
		}
	}
	for _, entry := range e.Entries {
		if !t.put(entry) {
			rest.Entries = append(rest.Entries, entry)
		} else {
			others = c.noteName(entry.Key) || others
		}
	}
	if e.Snapshot {
		c.reopenNamesLocked()
	}
	return rest, others || e.Snapshot
}

// noteName notes that the store has another record of a name, and reports whether it is another
// host's.
func (c *Cluster) noteName(key string) bool {
	if host, _, _, _ := isName(key); host != c.o.Self.Name {
		return true
	}
	c.own.open[key] = true
	return false
}
