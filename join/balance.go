package join

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

const (
	// balanceTimeout bounds one step of balance, and one call of the store.
	balanceTimeout = 10 * time.Second
	// startTime is how long a member may take to start before it is removed. Its host then
	// asks again.
	startTime = 45 * time.Second
	// pruneEvery is the time between two searches for users that belong to no host.
	pruneEvery = time.Minute
)

// balancer ensures that the hosts that operators named keep the store, and no others. It
// works on the leading member, one step at a time.
type balancer struct {
	node *Node
	// idle is when each member was first seen not to have started.
	idle map[uint64]time.Time
	// pruned is when users were last compared with hosts.
	pruned time.Time
	// synced are the rights that hosts had when last looked at, by user.
	synced map[string]syncedRights
	// local is set while this host's member leads.
	local *roster
}

// balance takes the next step, if the member on this host leads.
func (b *balancer) balance(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, balanceTimeout)
	defer cancel()
	r, err := b.leaderAccess()
	if r != nil {
		err = b.step(ctx, *r)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, heddle.StoreDown.Sentinel()) {
		b.node.log.Warn("members of the store not brought in line", "error", err)
	}
}

// leaderAccess returns the operator's access to the member on this host if it leads, and closes the
// access when it no longer does. Other members are not asked: a follower would have to forward a
// promotion to the leader. The leader refuses it, because the follower does not pass the
// certificate on.
func (b *balancer) leaderAccess() (*roster, error) {
	n := b.node
	n.mu.Lock()
	defer n.mu.Unlock()
	switch leads := n.server != nil && n.keys != nil && n.server.Leads(); {
	case leads && b.local == nil:
		r, err := n.connectLocked(n.keys.operator, urls(n.record.Underlay[:1], ClientPort))
		if err != nil {
			return nil, err
		}
		b.local = &r
	case !leads && b.local != nil:
		err := b.local.store.Close()
		b.local = nil
		return nil, err
	}
	return b.local, nil
}

func (b *balancer) close() {
	if b.local != nil {
		b.local.store.Close()
	}
}

func (b *balancer) step(ctx context.Context, r roster) error {
	s, err := r.state(ctx)
	if err != nil {
		return err
	}
	s.self = b.node.me.Name
	if err := r.publish(ctx, s.members); err != nil {
		return err
	}
	if len(s.keepers()) == 0 {
		return r.adoptKeepers(ctx, s, b.node.opt.Now())
	}
	return errors.Join(b.stepMembers(ctx, r, s), b.syncAllRights(ctx, r, s.hosts))
}

func (b *balancer) stepMembers(ctx context.Context, r roster, s state) error {
	b.recordIdle(s)
	learners, off := s.nextStep(b.late)
	if off != nil {
		return r.removeMember(ctx, *off)
	}
	if len(learners) > 0 {
		return r.promote(ctx, learners)
	}
	if time.Since(b.pruned) > pruneEvery {
		b.pruned = time.Now()
		return r.prune(ctx)
	}
	return nil
}

// nextStep is the next step: learners that get a vote, or a member that is removed.
func (s state) nextStep(late func(member) bool) (promote []member, off *member) {
	var voters, learners []member // of keepers
	var others []member
	for _, m := range s.members {
		h := s.host(m)
		switch {
		case m.Learner && (h == nil || !h.keeper || late(m)):
			return nil, &m
		case h == nil || !h.keeper:
			others = append(others, m)
		case m.Learner:
			learners = append(learners, m)
		default:
			voters = append(voters, m)
		}
	}
	even := len(voters)%2 == 0
	switch {
	case len(others) > 0 && len(voters) > 0: // if no keeper has a vote, the learners come first
		return nil, &others[0]
	case len(learners) > 0 && learners[len(learners)-1].Name == "":
		return nil, nil // it is about to start
	// An even number of votes is no better than one less. So learners wait for each other,
	// but at most two do, since etcd takes only a few at a time.
	case len(learners) > 1, len(learners) == 1 && even:
		return learners, nil
	case len(learners) == 0 && even && len(voters) > 0 && len(voters) == len(s.keepers()):
		m := s.surplusVoter(voters)
		return nil, &m // it comes back as a learner
	}
	return nil, nil
}

// surplusVoter is the voter that gives up its vote when the number of votes is even: one that
// is not connected before one that is, and then the one that came last; never this host's
// own.
func (s state) surplusVoter(voters []member) member {
	rank := func(m member) int {
		host := s.hostOf(m)
		n := s.index(host)
		switch {
		case host == s.self:
			return -1
		case !s.alive(host):
			n += len(s.hosts)
		}
		return n
	}
	return slices.MaxFunc(voters, func(a, b member) int { return rank(a) - rank(b) })
}

// recordIdle records since when each member has been late to start.
func (b *balancer) recordIdle(s state) {
	idle := map[uint64]time.Time{}
	for _, m := range s.members {
		if m.Name == "" {
			idle[m.ID] = since(b.idle[m.ID])
		}
	}
	b.idle = idle
}

func since(t time.Time) time.Time {
	if t.IsZero() {
		return time.Now()
	}
	return t
}

// late reports whether a member has not started in time.
func (b *balancer) late(m member) bool {
	t, ok := b.idle[m.ID]
	return ok && time.Since(t) > startTime
}
