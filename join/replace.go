package join

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
)

// Replace makes a host keep the store instead of another one, which is expelled. One change names
// the new host as a keeper, and the old one no longer. Call it again to finish an interrupted
// replacement.
func (o *Operator) Replace(ctx context.Context, name, by string) error {
	if err := retryWhileDown(ctx, func() error { return o.swapKeeper(ctx, name, by) }); err != nil {
		return err
	}
	if err := o.Expel(ctx, name); err != nil {
		return err
	}
	return o.awaitVote(ctx, by)
}

// retryWhileDown repeats do while the store does not answer; do must be safe to repeat. The member
// that is asked may just have been removed: then it stops before it answers, or the others
// have to elect a new leader.
func retryWhileDown(ctx context.Context, do func() error) error {
	for end := time.Now().Add(settleTimeout); ; pause(ctx, 300*time.Millisecond) {
		err := do()
		if !errors.Is(err, heddle.StoreDown.Sentinel()) || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
}

// swapKeeper names one host as a keeper, and another one no longer.
func (o *Operator) swapKeeper(ctx context.Context, name, by string) error {
	s, err := o.state(ctx)
	if err != nil {
		return err
	}
	i := s.index(by)
	if i < 0 {
		return noHostError(by)
	}
	return o.commit(ctx, "promote", store.Change{
		Require: []store.Condition{{Key: admittedKey(by), Revision: s.hosts[i].revision}},
		Put:     []store.Entry{keeperEntry(by, o.node.opt.Now())}, Delete: []string{keeperKey(name)}}, []string{by})
}

// awaitVote waits until the host has a vote in the store, or stands by because the number
// of keepers is even.
func (o *Operator) awaitVote(ctx context.Context, name string) error {
	why := "it is no member of the store yet"
	for {
		s, err := o.state(ctx)
		switch {
		case err == nil && (s.votes(name) || s.standsBy(name)):
			return nil
		case err == nil && s.keeps(name):
			why = "it is a member of the store, and has not all of its records yet"
		case err != nil && ctx.Err() == nil:
			why = heddle.SentenceOf(err)
		}
		select {
		case <-ctx.Done():
			return heddle.Errorf(heddle.Waited, "wait for vote of host", name, why,
				"wait: it goes on when the host can be reached, and 'heddle host list' shows it")
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// standsBy reports whether a host is the learner that waits for another keeper.
func (s state) standsBy(name string) bool {
	voters, learners := s.votersAndLearners()
	return len(learners) == 1 && learners[0].Name != "" && s.hostOf(learners[0]) == name && len(voters)%2 == 1 && len(voters)+1 == len(s.keepers())
}

// removed reports whether the cluster has removed a host of that name, and has
// none now; and, if one of that name is let in, with an ID, that it was this one.
func (r roster) removed(ctx context.Context, name, id string) (bool, error) {
	self, err := read(ctx, r.store, cluster.Prefix+"hosts/"+name+"/self")
	if err != nil || self.Value != nil {
		return false, err
	}
	snap, err := r.store.Read(ctx, cluster.Prefix+"removed/")
	if err != nil {
		return false, err
	}
	for _, e := range snap.Entries {
		var was struct{ Name string }
		if json.Unmarshal(e.Value, &was) == nil && was.Name == name && (id == "" || strings.HasSuffix(e.Key, "/"+id)) {
			return true, nil
		}
	}
	return false, nil
}

// resumable reports whether an interrupted replacement of a host that does not keep the store any
// more can go on.
func (s state) resumable(name, by string) error {
	left := slices.DeleteFunc(s.keepers(), func(k string) bool { return k == name })
	switch {
	case !s.hasHost(by):
		return noHostError(by)
	case slices.Contains(left, by) || len(left)%2 == 0:
		return nil
	}
	return heddle.Errorf(heddle.BadArgument, "replace host", name, "it is gone, and others keep the store already",
		"use 'heddle host remove "+name+"' if 'heddle host list' still shows it, and 'heddle host promote "+by+"' to have another keeper")
}

func noHostError(name string) error {
	return heddle.Errorf(heddle.NoHost, "find host", name, "",
		"name another host: 'heddle host list' shows those there are")
}
