package join

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/heddle-network/heddle/cluster"
)

// state is what a look sees.
type state struct {
	hosts   []admitted
	members []member
	// alive asks whether a host's agent is connected.
	alive func(host string) bool
	self  string
}

// state reads members and hosts, in that order: who was asked before a member was
// taken off is seen to be asked when that one is seen to be gone.
func (r roster) state(ctx context.Context) (state, error) {
	s := state{alive: func(host string) bool {
		e, err := read(ctx, r.store, cluster.Prefix+"hosts/"+host+"/alive")
		return err == nil && e.Value != nil
	}}
	var err error
	if s.members, err = r.members(ctx); err != nil {
		return s, err
	}
	if s.hosts, err = r.admissions(ctx); err != nil {
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

func (s state) keeps(host string) bool {
	return slices.ContainsFunc(s.members, func(m member) bool { return s.hostOf(m) == host })
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

// admissions lists all hosts that were let in, in the order in which they came.
func (r roster) admissions(ctx context.Context) ([]admitted, error) {
	snap, err := r.store.Read(ctx, hostsPrefix)
	if err != nil {
		return nil, err
	}
	votes := map[string]bool{}
	var all []admitted
	for _, e := range snap.Entries {
		name, what, _ := cutLast(e.Key[len(hostsPrefix):])
		if what == "vote" {
			votes[name] = true
		}
		if what != "admitted" {
			continue
		}
		a := admitted{name: name}
		if err := json.Unmarshal(e.Value, &a.admission); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	for i := range all {
		all[i].asked = votes[all[i].name]
	}
	slices.SortFunc(all, func(a, b admitted) int { return a.At.Compare(b.At) })
	return all, nil
}

// admitted is a host that was let in; asked says that it is to keep the store.
type admitted struct {
	name string
	admission
	asked bool
}
