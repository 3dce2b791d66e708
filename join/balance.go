package join

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
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

// state is what a look sees.
type state struct {
	hosts   []admitted
	members []member
	// alive asks whether a host's agent is connected.
	alive func(host string) bool
	self  string
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
	s.self = b.node.record.Name
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
	case len(learners) > 0 && (len(voters)%2 == 0 || len(s.members) >= want || s.candidate(b) == ""):
		return r.promote(ctx, learners)
	case len(s.members) < want:
		return b.ask(ctx, r, s)
	}
	return nil
}

// state reads hosts and members.
func (r roster) state(ctx context.Context) (state, error) {
	s := state{alive: func(host string) bool {
		e, err := read(ctx, r.store, cluster.Prefix+"hosts/"+host+"/alive")
		return err == nil && e.Value != nil
	}}
	var err error
	if s.hosts, err = r.admissions(ctx); err != nil {
		return s, err
	}
	if s.members, err = r.members(ctx); err != nil {
		return s, err
	}
	slices.SortStableFunc(s.members, func(a, b member) int { return cmp.Compare(b.Name, a.Name) }) // the nameless last
	for i, m := range s.members {
		if h := s.host(m); h != nil {
			s.members[i].Clients = urls(h.Underlay, ClientPort) // etcd tells of one address only
		}
	}
	return s, nil
}

func (s state) split() (voters, learners []member) {
	for _, m := range s.members {
		if m.Learner {
			learners = append(learners, m)
		} else {
			voters = append(voters, m)
		}
	}
	return voters, learners
}

// hostOf names the host that a member is on, also before it has started.
func (s state) hostOf(m member) string {
	if h := s.host(m); h != nil {
		return h.name
	}
	return ""
}

func (s state) host(m member) *admitted {
	for i, h := range s.hosts {
		if slices.Contains(m.Peers, peerURL(h.Underlay)) {
			return &s.hosts[i]
		}
	}
	return nil
}

// stranger is a member on no host of the cluster: its host was removed.
func (s state) stranger() *member {
	for i, m := range s.members {
		if s.hostOf(m) == "" {
			return &s.members[i]
		}
	}
	return nil
}

// surplus is the member that goes when there are too many: a learner, one that is
// away, the one that came last; never the one that decides.
func (s state) surplus() member {
	rank := func(m member) int {
		host := s.hostOf(m)
		n := slices.IndexFunc(s.hosts, func(h admitted) bool { return h.name == host })
		switch {
		case host == s.self:
			return -1
		case m.Learner:
			n += 2 * len(s.hosts)
		case !s.alive(host):
			n += len(s.hosts)
		}
		return n
	}
	return slices.MaxFunc(s.members, func(a, b member) int { return rank(a) - rank(b) })
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

func (s state) keeps(host string) bool {
	return slices.ContainsFunc(s.members, func(m member) bool { return s.hostOf(m) == host })
}

func (b *balancer) neverStarted(learners []member) *member {
	for i, m := range learners {
		if t, ok := b.idle[m.ID]; ok && time.Since(t) > askedTime {
			return &learners[i]
		}
	}
	return nil
}

// candidate is the next host to be asked: one that was, and has not had its time,
// else the first that is connected.
func (s state) candidate(b *balancer) string {
	for _, h := range s.hosts {
		if h.asked && !s.keeps(h.name) && time.Since(b.asked[h.name]) < askedTime {
			return h.name
		}
	}
	for _, h := range s.hosts {
		if _, late := b.asked[h.name]; !late && !s.keeps(h.name) && s.alive(h.name) {
			return h.name
		}
	}
	return ""
}

// ask asks the next host to keep the store; one that did not answer is asked no
// more.
func (b *balancer) ask(ctx context.Context, r roster, s state) error {
	name := s.candidate(b)
	for host, t := range b.asked {
		if host != name && time.Since(t) > askedTime {
			if err := r.unask(ctx, host); err != nil {
				return err
			}
		}
	}
	if name == "" || slices.ContainsFunc(s.hosts, func(h admitted) bool { return h.name == name && h.asked }) {
		return nil
	}
	return r.ask(ctx, name)
}

// thank takes back what was asked of hosts that do it.
func (r roster) thank(ctx context.Context, s state) error {
	for _, m := range s.members {
		if h := s.host(m); h != nil && h.asked && m.Name != "" {
			if err := r.unask(ctx, h.name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r roster) ask(ctx context.Context, name string) error {
	text, err := json.Marshal(struct {
		At time.Time `json:"at"`
	}{time.Now().UTC()})
	if err == nil {
		_, _, err = r.store.Commit(ctx, store.Change{Put: []store.Entry{{Key: voteKey(name), Value: text}}})
	}
	return err
}

func (r roster) unask(ctx context.Context, name string) error {
	_, _, err := r.store.Commit(ctx, store.Change{Delete: []string{voteKey(name)}})
	return err
}

// promote gives those learners votes that have all records.
func (r roster) promote(ctx context.Context, learners []member) error {
	for _, m := range learners {
		_, err := r.client.MemberPromote(ctx, m.ID)
		if err = ignore(err, rpctypes.ErrMemberLearnerNotReady); err != nil {
			return refusedTo("give a vote to", m.Name, err)
		}
	}
	return r.republish(ctx)
}

// dismiss takes a member off the store.
func (r roster) dismiss(ctx context.Context, m member) error {
	if _, err := r.client.MemberRemove(ctx, m.ID); ignore(err, rpctypes.ErrMemberNotFound) != nil {
		return refusedTo("take off the store's member", m.Name, err)
	}
	return r.republish(ctx)
}
