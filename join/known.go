package join

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// renewRequest asks, by the old certificate, for a new one.
type renewRequest struct {
	Request []byte    `json:"request"`
	Clock   time.Time `json:"clock"`
}

// renewReply has the new certificate in DER.
type renewReply struct {
	Certificate []byte `json:"certificate"`
}

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

// known returns the host of the cluster that calls with its certificate.
func (n *Node) known(ctx context.Context, r roster, c *x509.Certificate, clock time.Time) (guest, error) {
	if c == nil {
		return guest{}, heddle.Errorf(heddle.StoreRefused, "join door", "a call without a certificate", "is that program heddled, of this version?")
	}
	g, ok := parseGuest(c.Subject.CommonName)
	if err := verify(n.ca, c, x509.ExtKeyUsageClientAuth); err != nil || !ok {
		return g, heddle.Errorf(heddle.StoreStrange, "certificate of", fmt.Sprintf("%.80q, which is not of this cluster", c.Subject.CommonName), "join with a token of this cluster")
	}
	if err := checkDates(c, n.opt.Now(), n.opt.Name, clock); err != nil {
		return g, err
	}
	entry, err := read(ctx, r.store, admittedKey(g.Name))
	if err != nil {
		return g, err
	}
	var a admission
	if entry.Value != nil {
		err = json.Unmarshal(entry.Value, &a)
	}
	if err == nil && a.ID != g.ID {
		err = hostRemoved(g.Name)
	}
	return g, err
}

// answerRenew gives a host a new certificate for its key.
func (n *Node) answerRenew(ctx context.Context, q renewRequest, c *x509.Certificate) (any, error) {
	r, err := n.roster(ctx)
	if err != nil {
		return nil, err
	}
	g, err := n.known(ctx, r, c, q.Clock)
	if err != nil {
		return nil, err
	}
	k, err := n.memberKeys()
	if err != nil {
		return nil, err
	}
	cert, err := k.authority.signRequest(q.Request, g.String(), n.opt.Now())
	if err != nil {
		return nil, err
	}
	n.log.Info("certificate renewed", "host", g.Name, "until", cert.NotAfter)
	return renewReply{cert.Raw}, nil
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
	if _, err := r.client.MemberAddAsLearner(ctx, []string{own}); err != nil {
		// its members have not been together for long: that passes
		if ignore(err, rpctypes.ErrUnhealthy, rpctypes.ErrTooManyLearners) == nil {
			return nil, heddle.Wrap(heddle.StoreDown, "add member", g.Name, err, "it is tried again")
		}
		return nil, refusedTo("add member", g.Name, err)
	}
	if members, err = r.members(ctx); err != nil {
		return nil, err
	}
	return members, r.republish(ctx)
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

// reachable lists, of each member that has a vote, the URL at which a host with
// these addresses reaches it, IPv4 first.
func reachable(members []member, underlay []netip.Addr) []string {
	var all []string
	for _, m := range members {
		i := slices.IndexFunc(m.Clients, func(u string) bool {
			a, err := netip.ParseAddrPort(strings.TrimPrefix(u, "https://"))
			return err == nil && slices.ContainsFunc(underlay, func(own netip.Addr) bool { return own.Is4() == a.Addr().Is4() })
		})
		if i >= 0 && !m.Learner {
			all = append(all, m.Clients[i])
		}
	}
	return all
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
