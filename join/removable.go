package join

import (
	"context"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// settleTimeout is how long etcd may take to accept a change of its members.
const settleTimeout = 15 * time.Second

// removeMemberInTime removes a member from the store. Etcd refuses this until its members have
// been connected for some seconds. Also, the member that is asked may be the one to be
// removed, and stop before it answers. If asked again, another member says that it is
// gone.
func (o *Operator) removeMemberInTime(ctx context.Context, m member) error {
	for end := time.Now().Add(settleTimeout); ; pause(ctx, 300*time.Millisecond) {
		err := o.removeMemberOnce(ctx, m)
		if err == nil {
			return nil
		}
		if !store.Away(err) || ctx.Err() != nil || time.Now().After(end) {
			return storeError("remove member", m.Name, err)
		}
	}
}

// removeMemberOnce gives up after a third of settleTimeout: a member that hangs does not answer.
func (o *Operator) removeMemberOnce(ctx context.Context, m member) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout/3)
	defer cancel()
	_, err := o.client.MemberRemove(ctx, m.ID)
	if err = ignore(err, rpctypes.ErrMemberNotFound); err != nil {
		return err
	}
	return o.republish(ctx)
}

// Removable reports whether a host can be removed and, if by is not empty, whether that
// host can keep the store in its place. An interrupted replacement can go on.
func (o *Operator) Removable(ctx context.Context, name, by string) error {
	s, err := o.state(ctx)
	if err != nil {
		return err
	}
	if by != "" && !s.keeps(name) {
		if gone, err := o.removed(ctx, name, s.idOf(name)); err != nil {
			return err
		} else if gone {
			return s.resumable(name, by)
		}
	}
	voters, _ := s.votersAndLearners()
	last := len(voters) == 1 && s.hostOf(voters[0]) == name
	switch {
	case !s.hasHost(name):
		return noHostError(name)
	case last:
		return heddle.Errorf(heddle.BadArgument, "remove host", name, "it alone has a vote in the store",
			"name another host first ('heddle host promote NAME', and then 'heddle host demote "+name+"')")
	case s.votes(name) && !o.majorityWithoutInTime(ctx, s, name):
		return heddle.Errorf(heddle.StoreDown, "remove host", name,
			"its vote is needed: without it, most of the store's members would be away",
			"start the agents of the others first ('heddle host list')")
	case by == "":
		return nil
	case !s.hasHost(by):
		return noHostError(by)
	case s.keeps(by):
		return heddle.Errorf(heddle.BadArgument, "replace host", name, by+" keeps the store already",
			"name a host that does not, or use 'heddle host remove "+name+"'")
	case !s.keeps(name):
		return heddle.Errorf(heddle.BadArgument, "replace host", name, "it does not keep the store",
			"use 'heddle host remove "+name+"'")
	}
	return nil
}

// votes reports whether the host's member of the store has a vote.
func (s state) votes(name string) bool {
	voters, _ := s.votersAndLearners()
	return slices.ContainsFunc(voters, func(m member) bool { return s.hostOf(m) == name })
}

// majorityWithoutInTime is majorityWithout with retries: a member that has just got its vote may still be busy
// with records that it missed.
func (o *Operator) majorityWithoutInTime(ctx context.Context, s state, names ...string) bool {
	for end := time.Now().Add(settleTimeout); ; pause(ctx, 300*time.Millisecond) {
		if o.majorityWithout(ctx, s, names) {
			return true
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return false
		}
	}
}

// majorityWithout reports whether a majority answers among the voters that are not on the named
// hosts.
func (o *Operator) majorityWithout(ctx context.Context, s state, names []string) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	others, up := 0, 0
	voters, _ := s.votersAndLearners()
	for _, m := range voters {
		if slices.Contains(names, s.hostOf(m)) {
			continue
		}
		others++
		for _, url := range reachable([]member{m}, o.node.opt.Underlay) {
			if _, err := o.client.Status(ctx, url); err == nil {
				up++
			}
		}
	}
	return 2*up > others
}

// idOf is the ID of the host of that name, "" if none is let in.
func (s state) idOf(name string) string {
	if i := s.index(name); i >= 0 {
		return s.hosts[i].ID
	}
	return ""
}

func (s state) hasHost(name string) bool { return s.index(name) >= 0 }
