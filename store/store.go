// Package store is the record that the hosts of a cluster share: keys and
// values, changed in transactions, watched in order. Etcd keeps it, embedded in
// the first agents or external.
//
// Package cluster defines who may write what. The store only promises that a change is
// made completely or not at all, in one order that everybody sees.
package store

import "context"

// Store is one host's access to the record. It is safe for parallel use. Calls end with
// their context. A call that cannot reach the store returns an error of code
// heddle.StoreDown; one that the store refuses, heddle.StoreRefused or StoreFull.
type Store interface {
	// Commit makes the change if all its conditions hold, and otherwise nothing. After an
	// error other than a refusal, it is unknown whether the change was made.
	Commit(ctx context.Context, c Change) (done bool, revision int64, err error)
	// Read returns all entries whose keys start with the prefix, at one revision, which is
	// at least the newest one at the time of the call (linearizable).
	Read(ctx context.Context, prefix string) (Snapshot, error)
	// Watch sends a snapshot of the prefix, and then every change of it. If changes were
	// missed, it sends a snapshot again. When ctx ends, it closes the channel. While the
	// store cannot be reached it waits, and tries again.
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
	// Delete names keys; a missing one is no error. DeletePrefix deletes all keys below a
	// prefix.
	Delete       []string
	DeletePrefix []string
	// Lease, if not 0, is how many seconds the new entries last after this store access has
	// stopped renewing them. Nothing may depend on their going in time.
	Lease int64
}

// Condition holds if the key's last change was at the revision; 0: the key does not exist.
// With Prefix, it holds if no key below was changed after the revision; 0: there is no
// such key.
type Condition struct {
	Key      string
	Revision int64
	Prefix   bool
}

// Entry is a key with its value and the revision of its last change. Created is the
// revision at which the key was created; changes of its value do not affect it.
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
	// Snapshot is set if Entries are all entries.
	Snapshot bool
	Entries  []Entry
	Deleted  []string
}

// Health is the state of the store as this host sees it.
type Health struct {
	// State is "ok", "slow" or "down"; Detail is the last error. Cause is the same without
	// remedy and code.
	State  string `json:"state"`
	Detail string `json:"detail,omitempty"`
	Cause  string `json:"-"`
	// Refused is whether the store answered last that it does not let this host in, or this host does not
	// trust it.
	Refused bool `json:"-"`
	// Members keep the store, and vote unless they are learners.
	Members []Member `json:"members,omitempty"`
}

// Member is one server that keeps the store.
type Member struct {
	Name string `json:"name"`
	URL  string `json:"url,omitempty"`
	// Role is "leader", "voter" or "learner"; Up says whether it answered last time.
	Role string `json:"role"`
	Up   bool   `json:"up"`
}
