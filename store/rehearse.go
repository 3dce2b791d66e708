package store

import (
	"context"

	"github.com/heddle-network/heddle"
)

// rehearsal is an access to a store by which nothing is changed.
type rehearsal struct{ Store }

// Rehearse returns an access by which nothing is changed: it reads as the store does, and returns the
// first change as an error, a *Rehearsed. So an operation makes all the checks that come before it.
func Rehearse(s Store) Store { return rehearsal{s} }

func (rehearsal) Commit(_ context.Context, c Change) (bool, int64, error) {
	return false, 0, &Rehearsed{c}
}

// Rehearsed is the end of an operation that is rehearsed: it would have made the change.
type Rehearsed struct{ Change Change }

func (*Rehearsed) Error() string { return "nothing is changed: the operation is rehearsed" }

// Lines say what the change writes, a key a line.
func (r *Rehearsed) Lines() (all []string) {
	say := func(what, key string) { all = append(all, "# in the store: "+what+" "+heddle.Visible(key, false)) }
	for _, e := range r.Change.Put {
		say("write", e.Key)
	}
	for _, key := range r.Change.Delete {
		say("delete", key)
	}
	for _, prefix := range r.Change.DeletePrefix {
		say("delete", prefix+"...")
	}
	return all
}
