package cluster

import (
	"context"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

const (
	// deleteBatch is how many keys one change deletes; etcd takes 128 operations.
	deleteBatch = 50
	// maxBlockRecord is a size in bytes that no valid block record reaches.
	maxBlockRecord = 256
	// makeRoomTries is how often the changes that others made meanwhile are looked at again.
	makeRoomTries = 10
)

// MakeRoom deletes the keys that a host may have filled the store with: everything below
// its name except its own record; blocks that are its own, that are nobody's, or whose
// record is invalid (all hosts may write blocks); and keys under networks/ that cannot be
// read and have the name of no known network. It only deletes, which is possible in a full
// store. The host must have lost its rights before, and RemoveHost has to follow.
func (c *Cluster) MakeRoom(ctx context.Context, operator store.Store, name string) error {
	for range makeRoomTries {
		s, err := operator.Read(ctx, Prefix)
		if err != nil {
			return err
		}
		var own, junk []store.Entry
		useless := c.isJunk(s, name)
		for _, e := range s.Entries {
			if strings.HasPrefix(e.Key, hostKeys(name)) {
				own = append(own, e)
			} else if useless(e) {
				junk = append(junk, e)
			}
		}
		exact, prefixes := allExcept(own, selfKey(name))
		changes := deletions(exact, prefixes, junk)
		if len(changes) == 0 {
			return nil
		}
		for _, change := range changes {
			if _, _, err := operator.Commit(ctx, change); err != nil {
				return err
			}
		}
	}
	return nil
}

// deletions delete keys and prefixes in any case, and junk only if it is unchanged.
func deletions(keys, prefixes []string, junk []store.Entry) (all []store.Change) {
	for some := range slices.Chunk(keys, deleteBatch) {
		all = append(all, store.Change{Delete: some})
	}
	for some := range slices.Chunk(prefixes, deleteBatch) {
		all = append(all, store.Change{DeletePrefix: some})
	}
	for some := range slices.Chunk(junk, deleteBatch) {
		var change store.Change
		for _, e := range some {
			change.Require = append(change.Require, store.Condition{Key: e.Key, Revision: e.Revision})
			change.Delete = append(change.Delete, e.Key)
		}
		all = append(all, change)
	}
	return all
}

// allExcept covers all keys except one. Keys that are prefixes of it are listed exactly, the others
// are covered by prefixes.
func allExcept(all []store.Entry, but string) (exact, prefixes []string) {
	seen := map[string]bool{}
	for _, e := range all {
		n := 0
		for n < len(e.Key) && n < len(but) && e.Key[n] == but[n] {
			n++
		}
		switch {
		case e.Key == but:
		case n == len(e.Key):
			exact = append(exact, e.Key)
		case !seen[e.Key[:n+1]]:
			seen[e.Key[:n+1]] = true
			prefixes = append(prefixes, e.Key[:n+1])
		}
	}
	return exact, prefixes
}

// isJunk returns a function that reports whether a record that is not below a host's name is
// useless without that host. A network that this host knows, or that the store has, keeps its own
// record in any case. It keeps the blocks of all other hosts, except padded ones, which their hosts
// write again.
func (c *Cluster) isJunk(s store.Snapshot, name string) func(store.Entry) bool {
	seen := c.View()
	r := c.recordOf(s, seen)
	gone := ""
	if self := value[hostRecord](&r, selfKey(name)); self != nil {
		gone = self.ID
	}
	hosts, networks := map[string]bool{seen.Self.ID: true}, map[string]heddle.Network{}
	for _, p := range seen.Peers {
		hosts[p.ID] = true
	}
	for id := range r.hosts {
		hosts[id] = true
	}
	for _, n := range seen.Networks {
		networks[n.ID] = n
	}
	names := map[string]bool{}
	for id := range r.networks {
		if _, n := r.network(id); n != nil {
			networks[id] = *n
		}
	}
	for _, n := range networks {
		names[networkKey(n.Name)] = true
	}
	return func(e store.Entry) bool {
		i := r.items[e.Key]
		switch {
		case strings.HasPrefix(e.Key, networksKey):
			return (i.parsed == nil || i.parseError != "") && !names[e.Key]
		case strings.HasPrefix(e.Key, blocksKey):
			v, is := i.parsed.(*blockRecord)
			n, known := networks[i.addr.network]
			return !is || i.parseError != "" || len(e.Value) > maxBlockRecord || !known || !isBlock(n, i.prefix) || v.Host == gone || !hosts[v.Host]
		}
		return false
	}
}
