package join

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
)

// state is what one look at the cluster shows.
type state struct {
	hosts   []admitted
	members []member
	// alive asks whether a host's agent is connected.
	alive func(host string) bool
	self  string
}

// state reads the members first and then the hosts. A host that was named before its member was
// removed is then seen as named.
func (r roster) state(ctx context.Context) (state, error) {
	s := state{alive: func(host string) bool {
		e, err := read(ctx, r.store, cluster.Prefix+"hosts/"+host+"/alive")
		return err == nil && e.Value != nil
	}}
	var err error
	if s.members, err = r.members(ctx); err != nil {
		return s, err
	}
	if s.hosts, _, err = r.admissions(ctx); err != nil {
		return s, err
	}
	slices.SortStableFunc(s.members, func(a, b member) int { return cmp.Compare(b.Name, a.Name) }) // members without a name last
	for i, m := range s.members {
		if h := s.host(m); h != nil {
			s.members[i].Clients = urls(h.Underlay, ClientPort) // etcd reports only one address
		}
	}
	return s, nil
}

func (s state) votersAndLearners() (voters, learners []member) {
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

// host is the host with the member's address: a keeper, or otherwise the host that came
// first. Another host that claims the address as well proves nothing.
func (s state) host(m member) *admitted {
	var found *admitted
	for i, h := range s.hosts {
		if slices.Contains(m.Peers, peerURL(h.Underlay)) && (found == nil || h.keeper && !found.keeper) {
			found = &s.hosts[i]
		}
	}
	return found
}

// index is the index of the host with that name among the admitted hosts, -1 if there is none.
func (s state) index(name string) int {
	return slices.IndexFunc(s.hosts, func(h admitted) bool { return h.name == name })
}

func (s state) keeps(host string) bool {
	return slices.ContainsFunc(s.members, func(m member) bool { return s.hostOf(m) == host })
}

// admissions lists all hosts that were let in, in the order of their joining, at a
// revision.
func (r roster) admissions(ctx context.Context) ([]admitted, int64, error) {
	snap, err := r.store.Read(ctx, hostsPrefix)
	if err != nil {
		return nil, 0, err
	}
	all, err := admittedIn(snap.Entries)
	return all, snap.Revision, err
}

// host returns the host of a name, nil if none is let in.
func (r roster) host(ctx context.Context, name string) (*admitted, error) {
	snap, err := r.store.Read(ctx, hostsPrefix+name+"/")
	if err != nil {
		return nil, err
	}
	all, err := admittedIn(snap.Entries)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// admittedIn are the hosts whose records are among the entries.
func admittedIn(entries []store.Entry) ([]admitted, error) {
	keepers := map[string]int64{}
	var all []admitted
	for _, e := range entries {
		name, what, _ := cutLast(e.Key[len(hostsPrefix):])
		if what == "keeper" {
			keepers[name] = e.Revision
		}
		if what != "admitted" {
			continue
		}
		a := admitted{name: name, revision: e.Revision}
		if err := json.Unmarshal(e.Value, &a.admission); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	for i := range all {
		all[i].keeperRevision, all[i].keeper = keepers[all[i].name]
	}
	slices.SortFunc(all, func(a, b admitted) int { return a.At.Compare(b.At) })
	return all, nil
}

// admitted is a host that was let in; keeper says that an operator named it to keep
// the store.
type admitted struct {
	name string
	admission
	keeper bool
	// revision is that of the admission's record, named that of the keeper's.
	revision, keeperRevision int64
}
