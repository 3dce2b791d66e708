package join

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

const (
	// lookTime bounds a look at the members.
	lookTime = 10 * time.Second
	// askedTime is how long a host that was asked may take before another one is,
	// or a member that never started is taken off.
	askedTime = 45 * time.Second
)

// wanted is how many of the hosts shall keep the store: an odd number, so that
// as many as possible may fail.
func wanted(hosts int) int {
	switch {
	case hosts >= 5:
		return 5
	case hosts >= 3:
		return 3
	}
	return 1
}

// balancer sees to it that the right number of hosts keep the store. It works on
// the member that leads, one step at a look.
type balancer struct {
	node *Node
	// asked is when each host was first seen to be asked and no member, idle when
	// each member was first seen not to have started.
	asked map[string]time.Time
	idle  map[uint64]time.Time
	// local is there while this host's member leads.
	local *roster
}

// look takes the next step, if the member on this host leads.
func (b *balancer) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	r, err := b.lead()
	if r != nil {
		err = b.step(ctx, *r)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, heddle.StoreDown.Sentinel()) {
		b.node.log.Warn("members of the store not brought in line", "error", err)
	}
}

// lead returns the operator's access to the member on this host while that
// leads, and closes it after. It asks no other one: a promotion that a follower
// has to pass on is refused, for it passes no certificate on.
func (b *balancer) lead() (*roster, error) {
	n := b.node
	n.mu.Lock()
	defer n.mu.Unlock()
	switch leads := n.server != nil && n.keys != nil && n.server.Leads(); {
	case leads && b.local == nil:
		r, err := n.as(n.keys.operator, urls(n.record.Underlay[:1], ClientPort))
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
	b.watch(s)
	if err := r.thank(ctx, s); err != nil {
		return err
	}
	voters, learners := s.split()
	want := wanted(len(s.hosts))
	switch {
	case s.stranger() != nil:
		return r.dismiss(ctx, *s.stranger())
	case len(learners) > 0 && b.neverStarted(learners) != nil:
		m := b.neverStarted(learners)
		return errors.Join(r.unask(ctx, s.hostOf(*m)), r.dismiss(ctx, *m))
	case len(s.members) > want:
		return r.dismiss(ctx, s.surplus())
	case len(learners) > 0 && learners[len(learners)-1].Name == "":
		return nil // it is about to start
	// an even number of votes is no better than one less: learners wait for each
	// other, but no more than two, for etcd takes few at a time
	case len(learners) > 1, len(learners) == 1 && (len(voters)%2 == 0 || len(s.members) >= want):
		return r.promote(ctx, learners)
	case len(s.members) < want:
		return b.ask(ctx, r, s)
	}
	return b.giveUp(ctx, r, "")
}

// watch notes since when hosts and members have kept others waiting.
func (b *balancer) watch(s state) {
	asked, idle := map[string]time.Time{}, map[uint64]time.Time{}
	for _, h := range s.hosts {
		if h.asked && !s.keeps(h.name) {
			asked[h.name] = since(b.asked[h.name])
		}
	}
	for _, m := range s.members {
		if m.Name == "" {
			idle[m.ID] = since(b.idle[m.ID])
		}
	}
	b.asked, b.idle = asked, idle
}

func since(t time.Time) time.Time {
	if t.IsZero() {
		return time.Now()
	}
	return t
}

func (b *balancer) neverStarted(learners []member) *member {
	for i, m := range learners {
		if t, ok := b.idle[m.ID]; ok && time.Since(t) > askedTime {
			return &learners[i]
		}
	}
	return nil
}

// giveUp asks hosts no more that were asked and did not come in time, but for one.
func (b *balancer) giveUp(ctx context.Context, r roster, but string) error {
	for host, t := range b.asked {
		if host != but && time.Since(t) > askedTime {
			if err := r.unask(ctx, host); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask asks the next host to keep the store; one that did not answer is asked no
// more.
func (b *balancer) ask(ctx context.Context, r roster, s state) error {
	name := s.candidate(b)
	if err := b.giveUp(ctx, r, name); err != nil {
		return err
	}
	if name == "" || slices.ContainsFunc(s.hosts, func(h admitted) bool { return h.name == name && h.asked }) {
		return nil
	}
	return r.ask(ctx, name)
}
