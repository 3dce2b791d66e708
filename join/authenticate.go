package join

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// renewRequest asks for a new certificate, using the old one.
type renewRequest struct {
	Request []byte    `json:"request"`
	Clock   time.Time `json:"clock"`
}

// renewReply has the new certificate in DER.
type renewReply struct {
	Certificate []byte `json:"certificate"`
}

// authenticate reads the roster, and returns the host in it whose certificate the caller uses.
func (n *Node) authenticate(ctx context.Context, c *x509.Certificate, clock time.Time) (roster, identity, error) {
	r, err := n.roster(ctx)
	if err != nil {
		return r, identity{}, err
	}
	if c == nil {
		return r, identity{}, heddle.Errorf(heddle.StoreRefused, "answer", "request to the join door",
			"the caller shows no certificate", "use heddled of the same version on both hosts")
	}
	g, ok := parseIdentity(c.Subject.CommonName)
	if err := verify(n.ca, c, x509.ExtKeyUsageClientAuth); err != nil || !ok {
		return r, g, heddle.Errorf(heddle.StoreStrange, "use certificate of", fmt.Sprintf("%.80q", c.Subject.CommonName),
			"it is not of this cluster",
			"join with a token of this cluster")
	}
	if err := checkDates(c, n.opt.Now(), n.opt.Name, clock); err != nil {
		return r, g, err
	}
	return r, g, r.checkKey(ctx, g, c)
}

// answerRenew gives a host a new certificate for its key, and for no other key.
func (n *Node) answerRenew(ctx context.Context, q renewRequest, c *x509.Certificate) (any, error) {
	_, g, err := n.authenticate(ctx, c, q.Clock)
	if err != nil {
		return nil, err
	}
	public, err := requestedKey(q.Request, g.String())
	if err != nil {
		return nil, err
	}
	key, err := keyFingerprint(public)
	if err != nil {
		return nil, err
	}
	if own, err := keyFingerprint(c.PublicKey); err != nil || key != own {
		return nil, otherKeyError(g)
	}
	ca, err := n.signer()
	if err != nil {
		return nil, err
	}
	cert, err := ca.sign(g.String(), public, nil, n.opt.Now(), hostLife)
	if err != nil {
		return nil, err
	}
	n.log.Info("certificate renewed", "host", g.Name, "until", cert.NotAfter)
	return renewReply{cert.Raw}, nil
}

// reachable lists, of each member that has a vote, the URL at which a host with
// these addresses reaches it, IPv4 first.
func reachable(members []member, underlay []netip.Addr) []string {
	var all []string
	for _, m := range members {
		i := slices.IndexFunc(m.Clients, func(u string) bool {
			a, err := netip.ParseAddrPort(strings.TrimPrefix(u, "https://"))
			return err == nil && slices.ContainsFunc(underlay, heddle.FamilyOf(a.Addr()).Has)
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
