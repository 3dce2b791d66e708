package join

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// memberRequest asks, by the host's certificate, for what a keeper of the store
// needs.
type memberRequest struct {
	Underlay []netip.Addr `json:"underlay"`
	Clock    time.Time    `json:"clock"`
}

// memberReply has keys in PEM, and the members that the new one shall start with.
type memberReply struct {
	AuthorityKey []byte `json:"authorityKey"`
	Operator     []byte `json:"operator"`
	// Initial are the members' peer URLs by name.
	Initial map[string]string `json:"initial"`
}

// answerMember makes a host that was asked to a member of the store. It votes as
// soon as it has all records.
func (n *Node) answerMember(ctx context.Context, q memberRequest, c *x509.Certificate) (any, error) {
	r, err := n.roster(ctx)
	if err != nil {
		return nil, err
	}
	g, err := n.known(ctx, r, c, q.Clock)
	if err != nil {
		return nil, err
	}
	vote, err := read(ctx, r.store, voteKey(g.Name))
	if err != nil {
		return nil, err
	}
	if vote.Value == nil || !goodUnderlay(q.Underlay) {
		return nil, heddle.Errorf(heddle.StoreRefused, "membership of", g.Name, "nobody asked this host to keep the store")
	}
	if err := r.move(ctx, g, q.Underlay); err != nil {
		return nil, err
	}
	own := peerURL(q.Underlay)
	members, err := r.learn(ctx, g, own)
	if err != nil {
		return nil, err
	}
	k, err := n.memberKeys()
	if err != nil {
		return nil, err
	}
	key, err := keyPEM(k.authority.key)
	if err != nil {
		return nil, err
	}
	operator, err := bundle(n.ca, k.operator)
	if err != nil {
		return nil, err
	}
	n.log.Info("host becomes a member of the store", "host", g.Name)
	return memberReply{key, operator, initial(members, g.Name, own)}, nil
}

// move records where a host is now.
func (r roster) move(ctx context.Context, g guest, underlay []netip.Addr) error {
	entry, err := read(ctx, r.store, admittedKey(g.Name))
	if err != nil {
		return err
	}
	var a admission
	if err := json.Unmarshal(entry.Value, &a); err != nil {
		return err
	}
	if slices.Equal(a.Underlay, underlay) {
		return nil
	}
	a.Underlay = underlay
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	done, _, err := r.store.Commit(ctx, store.Change{Require: []store.Condition{{Key: entry.Key, Revision: entry.Revision}}, Put: []store.Entry{{Key: entry.Key, Value: text}}})
	if err == nil && !done {
		err = heddle.Errorf(heddle.StoreDown, "record of", g.Name+" changed meanwhile", "it is tried again")
	}
	return err
}

// learn makes a host a member without a vote, and returns all members. One that
// was added and never started is the one; one that started has lost its records
// if it asks again, and is replaced.
func (r roster) learn(ctx context.Context, g guest, own string) ([]member, error) {
	members, err := r.members(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if !slices.Contains(m.Peers, own) {
			continue
		}
		if m.Name == "" {
			return members, nil
		}
		if _, err := r.client.MemberRemove(ctx, m.ID); err != nil {
			return nil, refusedTo("replace member", m.Name, err)
		}
	}
	if err := r.room(ctx, g.Name, own, members); err != nil {
		return nil, err
	}
	if _, err := r.client.MemberAddAsLearner(ctx, []string{own}); err != nil {
		if ignore(err, rpctypes.ErrTooManyLearners) == nil { // that passes
			return nil, heddle.Wrap(heddle.StoreDown, "add member", g.Name, err, "it is tried again")
		}
		return nil, refusedTo("add member", g.Name, err)
	}
	if members, err = r.members(ctx); err != nil {
		return nil, err
	}
	return members, r.republish(ctx)
}

// room reports whether the store needs another member. A host that is to replace
// one is asked while that one is still there.
func (r roster) room(ctx context.Context, name, own string, members []member) error {
	hosts, err := r.admissions(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(members), func(m member) bool { return slices.Contains(m.Peers, own) })
	if len(others) >= wanted(len(hosts)) {
		return heddle.Errorf(heddle.StoreDown, "membership of", fmt.Sprintf("%s: %d hosts keep the store already", name, len(others)), "it is tried again")
	}
	return nil
}

// initial are the members' peer URLs by name, the caller's under its own.
func initial(members []member, name, own string) map[string]string {
	all := map[string]string{}
	for _, m := range members {
		as := m.Name
		switch {
		case slices.Contains(m.Peers, own):
			as = name
		case as == "":
			as = fmt.Sprintf("member-%x", m.ID) // any name does; the URLs count
		}
		all[as] = m.Peers[0]
	}
	return all
}
