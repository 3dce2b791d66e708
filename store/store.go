// Package store is the record that the hosts of a cluster share: keys and
// values, changed in transactions, watched in order. Etcd keeps it, embedded in
// the first agents or external.
//
// Who may write what is in package cluster; the store only promises that a
// change happens whole or not at all, in one order that everybody sees.
package store

import "context"

// Store is one host's access to the record. It is safe for parallel use. Calls
// end with their context; those that cannot reach the store return an error of
// code heddle.StoreDown, those it refuses heddle.StoreRefused or StoreFull.
type Store interface {
	// Commit makes the change if all that it requires holds, and else nothing. An
	// error other than a refusal leaves open whether it was made.
	Commit(ctx context.Context, c Change) (done bool, revision int64, err error)
	// Read returns all entries whose keys start with the prefix, at one revision
	// that no later than the call was the newest (linearizable).
	Read(ctx context.Context, prefix string) (Snapshot, error)
	// Watch sends a snapshot of the prefix, then every change of it, and a snapshot
	// again wherever changes were missed, until ctx ends; then it closes the
	// channel. While the store is away it waits, and tries again.
	Watch(ctx context.Context, prefix string) <-chan Event
	// Health says whether the store takes changes, and who keeps it. It answers
	// at once, from what the last contacts showed.
	Health() Health
	Close() error
}

// Change is one transaction.
type Change struct {
	Require []Condition
	Put     []Entry
	// Delete names keys; one that is not there is no error. DeletePrefix deletes
	// all keys below.
	Delete       []string
	DeletePrefix []string
	// Lease, if not 0, is how many seconds the entries put last without this
	// store's life: they go when it is gone. Nothing rests on their going in time.
	Lease int64
}

// Condition holds if the key's last change was at the revision; 0: it is not
// there. With Prefix, it holds if no key below was changed after the revision;
// 0: there is none.
type Condition struct {
	Key      string
	Revision int64
	Prefix   bool
}

// Entry is a key with its value and the revision of its last change. Created is the
// revision since which the key has been there; changes of its value leave it.
type Entry struct {
	Key      string
	Value    []byte
	Revision int64
	Created  int64
}

// Snapshot is all entries of a prefix at a revision.
type Snapshot struct {
	Revision int64
	Entries  []Entry
}

// Event is what Watch sends: a whole snapshot, or the changes of one revision.
type Event struct {
	Revision int64
	// Snapshot is set if Entries are all there are.
	Snapshot bool
	Entries  []Entry
	Deleted  []string
}

// Health is the state of the store as this host sees it.
type Health struct {
	// State is "ok", "slow" or "down"; Detail is the last error.
	State  string `json:"state"`
	Detail string `json:"detail,omitempty"`
	// Members keep the store, and vote unless they are learners.
	Members []Member `json:"members,omitempty"`
}

// Member is one server that keeps the store.
type Member struct {
	Name string `json:"name"`
	URL  string `json:"url,omitempty"`
	// Role is "leader", "voter" or "learner"; Up is whether it answered last.
	Role string `json:"role"`
	Up   bool   `json:"up"`
}
