package join

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// memberRequest asks for what a keeper of the store needs, using the host's certificate.
type memberRequest struct {
	Underlay []netip.Addr `json:"underlay"`
	Clock    time.Time    `json:"clock"`
	// Serving is a PKCS #10 request for the certificate that the host will serve with. It
	// is used while the authority's key is off the hosts; otherwise the host signs that
	// certificate itself.
	Serving []byte `json:"serving,omitempty"`
}

// memberReply has keys in PEM, and the members that the new one shall start with.
type memberReply struct {
	AuthorityKey []byte `json:"authorityKey,omitempty"`
	// Serving is the certificate asked for, in DER.
	Serving  []byte `json:"serving,omitempty"`
	Operator []byte `json:"operator"`
	// Initial are the members' peer URLs by name.
	Initial map[string]string `json:"initial"`
}

// answerMember makes a host that an operator named a member of the store. It gets a vote
// when it has all records, and the number of votes becomes odd.
func (n *Node) answerMember(ctx context.Context, q memberRequest, c *x509.Certificate) (any, error) {
	r, g, err := n.authenticate(ctx, c, q.Clock)
	if err != nil {
		return nil, err
	}
	keeper, err := read(ctx, r.store, keeperKey(g.Name))
	if err != nil {
		return nil, err
	}
	if keeper.Value == nil || !goodUnderlay(q.Underlay) {
		return nil, heddle.Errorf(heddle.StoreRefused, "add member", g.Name, "no operator has named this host as a keeper of the store",
			"have an operator name it: 'heddle host promote "+g.Name+"'")
	}
	if err := r.move(ctx, g, q.Underlay); err != nil {
		return nil, err
	}
	reply, err := n.membershipFor(ctx, r, q)
	if err != nil {
		return nil, err
	}
	own := peerURL(q.Underlay)
	n.addMu.Lock()
	members, err := r.learn(ctx, g, own)
	n.addMu.Unlock()
	if err != nil {
		return nil, err
	}
	reply.Initial = initial(members, g.Name, own)
	n.log.Info("host becomes a member of the store", "host", g.Name)
	return reply, nil
}

// membershipFor returns what a new member gets. The authority's key is only handed on from disk to
// disk: not while it is withdrawn, and not a lent key.
func (n *Node) membershipFor(ctx context.Context, r roster, q memberRequest) (reply memberReply, err error) {
	k, err := n.memberKeys()
	if err != nil {
		return reply, err
	}
	if reply.Operator, err = bundle(n.ca, k.operator); err != nil {
		return reply, err
	}
	away, err := withdrawnNow(ctx, r.store)
	if err != nil {
		return reply, err
	}
	if away == nil && k.authority.key != nil {
		reply.AuthorityKey, err = keyPEM(k.authority.key)
		return reply, err
	}
	if away == nil || len(q.Serving) == 0 { // it asks again with a request, once it knows
		return reply, keyAwayError()
	}
	reply.Serving, err = n.signServing(q)
	return reply, err
}

// signServing signs the certificate that a new member serves with.
func (n *Node) signServing(q memberRequest) ([]byte, error) {
	public, err := requestedKey(q.Serving, serverName)
	if err != nil {
		return nil, err
	}
	ca, err := n.signer()
	if err != nil {
		return nil, err
	}
	cert, err := ca.sign(serverName, public, q.Underlay, n.opt.Now(), hostLife)
	if err != nil {
		return nil, err
	}
	return cert.Raw, nil
}

// move records a host's present addresses, unless another host keeps the store at one of
// them.
func (r roster) move(ctx context.Context, g identity, underlay []netip.Addr) error {
	all, _, err := r.admissions(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(h admitted) bool { return h.name == g.Name && h.ID == g.ID })
	if i < 0 {
		return cluster.RemovedError(g.Name)
	}
	if err := checkKeeperAddresses(all, g.Name, underlay); err != nil || slices.Equal(all[i].Underlay, underlay) {
		return err
	}
	all[i].Underlay = underlay
	return r.replaceAdmission(ctx, all[i])
}

// learn makes a host a member without a vote, and returns all members. A member of the
// host that was added and never started is used. If it has started, the host lost its
// records, since it asks again; the member is replaced. Members are added one by one,
// since a member only starts with the complete list of them. If two doors add one at the
// same moment, one of these is removed in time, and its host asks again.
func (r roster) learn(ctx context.Context, g identity, own string) ([]member, error) {
	members, err := r.members(ctx)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(members, func(m member) bool { return m.Name == "" && !slices.Contains(m.Peers, own) }) {
		return nil, heddle.Errorf(heddle.StoreDown, "add member", g.Name, "another member is about to start",
			"wait: it is tried again")
	}
	for _, m := range members {
		if !slices.Contains(m.Peers, own) {
			continue
		}
		if m.Name == "" {
			return members, nil
		}
		if _, err := r.client.MemberRemove(ctx, m.ID); err != nil {
			return nil, storeError("replace member", m.Name, err)
		}
	}
	if _, err := r.client.MemberAddAsLearner(ctx, []string{own}); err != nil {
		if ignore(err, rpctypes.ErrTooManyLearners) == nil { // this error is temporary
			return nil, heddle.Wrap(heddle.StoreDown, "add member", g.Name, err, "wait: it is tried again")
		}
		return nil, storeError("add member", g.Name, err)
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
			as = fmt.Sprintf("member-%x", m.ID) // any name works; the URLs count
		}
		all[as] = m.Peers[0]
	}
	return all
}
