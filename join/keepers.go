package join

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// maxKeepers bounds the number of hosts that keep the store: each takes part in every
// change.
const maxKeepers = 7

// keeperEntry is the record by which an operator names a host as a keeper of the store. It
// stands until an operator takes it back, so a host that lost its data may fetch it again.
func keeperEntry(host string, now time.Time) store.Entry {
	text, err := json.Marshal(struct {
		At time.Time `json:"at"`
	}{now.UTC()})
	if err != nil {
		panic(err) // it is plain data
	}
	return store.Entry{Key: keeperKey(host), Value: text}
}

// keepers are the hosts that operators named.
func (s state) keepers() []string {
	var all []string
	for _, h := range s.hosts {
		if h.keeper {
			all = append(all, h.name)
		}
	}
	return all
}

// Promote names hosts as keepers of the store, all of them or none. One that is
// named already stays so.
func (o *Operator) Promote(ctx context.Context, names []string) error {
	return retryWhileDown(ctx, func() error { return o.addKeepers(ctx, names) })
}

func (o *Operator) addKeepers(ctx context.Context, names []string) error {
	s, err := o.state(ctx)
	if err != nil {
		return err
	}
	var c store.Change
	all := s.keepers()
	for _, name := range names {
		i := s.index(name)
		if i < 0 {
			return noHostError(name)
		}
		if slices.Contains(all, name) {
			continue
		}
		all = append(all, name)
		c.Put = append(c.Put, keeperEntry(name, o.node.opt.Now()))
		c.Require = append(c.Require, store.Condition{Key: admittedKey(name), Revision: s.hosts[i].revision})
	}
	if len(all) > maxKeepers {
		return heddle.Errorf(heddle.BadArgument, "promote", strings.Join(names, ", "), fmt.Sprintf("the store would have %d keepers: %s", len(all), strings.Join(all, ", ")),
			fmt.Sprintf("name at most %d; 3 survive the loss of one, 5 of two", maxKeepers))
	}
	return o.commit(ctx, "promote", c, names)
}

// Demote makes hosts stop keeping the store, all of them or none. The last keeper stays,
// and so do hosts without which the store would have no majority.
func (o *Operator) Demote(ctx context.Context, names []string) error {
	return retryWhileDown(ctx, func() error { return o.removeKeepers(ctx, names) })
}

func (o *Operator) removeKeepers(ctx context.Context, names []string) error {
	s, err := o.state(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !s.hasHost(name) {
			return noHostError(name)
		}
	}
	left := slices.DeleteFunc(s.keepers(), func(k string) bool { return slices.Contains(names, k) })
	if !slices.ContainsFunc(left, s.keeps) {
		return heddle.Errorf(heddle.BadArgument, "demote", strings.Join(names, ", "), "nobody would keep the store",
			"name another host first ('heddle host promote NAME'), and wait until 'heddle host list' shows that it keeps the store")
	}
	if slices.ContainsFunc(left, s.votes) && slices.ContainsFunc(names, s.votes) && !o.majorityWithoutInTime(ctx, s, names...) {
		return heddle.Errorf(heddle.StoreDown, "demote", strings.Join(names, ", "), "the vote is needed: most of the store's other members are away",
			"start the agents of the others first ('heddle host list')")
	}
	return o.commit(ctx, "demote", s.demotion(names), names)
}

// demotion is the change that demotes hosts, on condition that the remaining keepers are
// still keepers: with two demotions at the same time, one has to look again.
func (s state) demotion(names []string) (c store.Change) {
	for _, name := range names {
		c.Delete = append(c.Delete, keeperKey(name))
	}
	for _, h := range s.hosts {
		if h.keeper && !slices.Contains(names, h.name) {
			c.Require = append(c.Require, store.Condition{Key: keeperKey(h.name), Revision: h.keeperRevision})
		}
	}
	return c
}

// commit makes a change of the keepers, unless one of its hosts was removed or demoted
// meanwhile. Then it adjusts the rights of those hosts.
func (o *Operator) commit(ctx context.Context, op string, c store.Change, names []string) error {
	if o.rehearses || len(c.Put)+len(c.Delete) > 0 {
		done, _, err := o.store.Commit(ctx, c)
		if err == nil && !done {
			err = heddle.Errorf(heddle.StoreDown, op, strings.Join(names, ", "),
				"the hosts changed meanwhile", "try again")
		}
		if err != nil {
			return err
		}
	}
	var errs []error
	for _, name := range names {
		_, err := o.syncRights(ctx, name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// adoptKeepers names the hosts that keep the store as keepers, if the cluster names none
// yet because an earlier version founded it. It also publishes the admissions for all
// hosts.
func (r roster) adoptKeepers(ctx context.Context, s state, now time.Time) error {
	for _, h := range s.hosts {
		if err := r.replaceAdmission(ctx, h); err != nil {
			return err
		}
	}
	s, err := r.state(ctx)
	if err != nil {
		return err
	}
	var c store.Change
	for _, h := range s.hosts {
		if s.keeps(h.name) {
			c.Put = append(c.Put, keeperEntry(h.name, now))
			c.Require = append(c.Require, store.Condition{Key: admittedKey(h.name), Revision: h.revision})
		}
	}
	_, _, err = r.store.Commit(ctx, c)
	return err
}
