package join

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// joinRequest asks for a certificate by a token.
type joinRequest struct {
	Secret []byte `json:"secret"`
	identity
	Underlay []netip.Addr `json:"underlay"`
	// Request is a PKCS #10 request for the host's certificate.
	Request []byte `json:"request"`
	// Clock is what the host's clock shows.
	Clock time.Time `json:"clock"`
}

// joinReply has certificates in DER.
type joinReply struct {
	Certificate []byte   `json:"certificate"`
	Authority   []byte   `json:"authority"`
	Endpoints   []string `json:"endpoints"`
}

// admission is what the store keeps of a host that was let in.
type admission struct {
	ID string `json:"id"`
	// Key is the fingerprint of the host's key; empty if an earlier version let it in.
	Key      string       `json:"key,omitempty"`
	Underlay []netip.Addr `json:"underlay"`
	At       time.Time    `json:"at"`
	// Token names the token that it came by; empty for the founder.
	Token string `json:"token,omitempty"`
	// May are the rights that an operator granted it, sorted.
	May []string `json:"may,omitempty"`
}

// answerJoin lets a host with a token in.
func (n *Node) answerJoin(ctx context.Context, q joinRequest, _ *x509.Certificate) (any, error) {
	if err := q.check(n.opt.Now()); err != nil {
		return nil, err
	}
	r, err := n.roster(ctx)
	if err != nil {
		return nil, err
	}
	if _, _, err := r.token(ctx, q, n.opt.Now()); err != nil { // nothing is done for a host without a valid token
		return nil, err
	}
	public, err := requestedKey(q.Request, q.identity.String())
	if err != nil {
		return nil, err
	}
	ca, err := n.signer()
	if err != nil {
		return nil, err
	}
	cert, err := ca.sign(q.identity.String(), public, nil, n.opt.Now(), hostLife)
	if err != nil {
		return nil, err
	}
	endpoints, err := r.endpoints(ctx, q.Underlay)
	if err != nil {
		return nil, err
	}
	if err := r.admitHost(ctx, q, public, n.opt.Now()); err != nil {
		n.log.Warn("host not let in", "name", q.Name, "id", q.ID, "error", err)
		return nil, err
	}
	n.log.Info("host let in", "name", q.Name, "id", q.ID)
	return joinReply{cert.Raw, n.ca.Raw, endpoints}, nil
}

// admitHost records a host and gives it its rights. If the host is removed meanwhile, it
// keeps none.
func (r roster) admitHost(ctx context.Context, q joinRequest, public crypto.PublicKey, now time.Time) error {
	key, err := keyFingerprint(public)
	if err != nil {
		return err
	}
	if err := r.admit(ctx, q, key, now); err != nil {
		return err
	}
	if err := r.grant(ctx, q.identity); err != nil {
		return err
	}
	err = r.checkNotRemoved(ctx, q.identity)
	if errors.Is(err, heddle.HostRemoved.Sentinel()) {
		err = errors.Join(err, r.revoke(ctx, q.identity.String()))
	}
	return err
}

func (q joinRequest) check(now time.Time) error {
	if err := CheckHostName(q.Name); err != nil {
		return err
	}
	if !hostID.MatchString(q.ID) || len(q.Secret) != 16 || !goodUnderlay(q.Underlay) {
		return heddle.Errorf(heddle.BadJSON, "read join request of host", q.Name,
			"its ID, secret or addresses are not valid", "use heddled of the same version on both hosts")
	}
	if off := q.Clock.Sub(now).Abs(); off > clockSlack {
		return heddle.Errorf(heddle.StoreRefused, "admit host", q.Name,
			"the clocks differ by "+off.Round(time.Second).String()+": that of "+q.Name+" says "+formatTime(q.Clock)+", the one here "+formatTime(now),
			"set the wrong clock: with it, certificates are not valid")
	}
	return nil
}

func goodUnderlay(all []netip.Addr) bool {
	ok := len(all) == 1 || len(all) == 2 && heddle.FamilyOf(all[0]) != heddle.FamilyOf(all[1])
	return ok && !slices.ContainsFunc(all, func(a netip.Addr) bool {
		return !a.IsValid() || a.IsUnspecified() || a.IsMulticast() || a.Is4In6() || a.Zone() != ""
	})
}

// admit checks the token and the host, and records the host: completely or not at all.
func (r roster) admit(ctx context.Context, q joinRequest, key string, now time.Time) error {
	for {
		t, used, err := r.token(ctx, q, now)
		if err != nil {
			return err
		}
		all, at, err := r.checkAdmission(ctx, q.identity, key, q.Underlay)
		if err != nil {
			return err
		}
		a := admission{q.ID, key, q.Underlay, now.UTC(), token{secret: [16]byte(q.Secret)}.label(), t.May}
		if i := slices.IndexFunc(all, func(h admitted) bool { return h.name == q.Name }); i >= 0 {
			a.At, a.Token, a.May = all[i].At, all[i].Token, all[i].May
		}
		done, err := r.record(ctx, q.Name, a, t, used, at)
		if done || err != nil {
			return err
		}
	}
}

// enrol records the host that founds the cluster: its first keeper.
func (r roster) enrol(ctx context.Context, g identity, public crypto.PublicKey, underlay []netip.Addr, now time.Time) error {
	key, err := keyFingerprint(public)
	if err != nil {
		return err
	}
	entries, err := admission{ID: g.ID, Key: key, Underlay: underlay, At: now.UTC()}.entries(g.Name)
	if err == nil {
		_, _, err = r.store.Commit(ctx, store.Change{Put: append(entries, keeperEntry(g.Name, now))})
	}
	return err
}

// record commits an admission, if the token is unchanged since it was read, and if all
// admissions are unchanged since a revision.
func (r roster) record(ctx context.Context, name string, a admission, t tokenRecord, used store.Entry, at int64) (bool, error) {
	entries, err := a.entries(name)
	if err != nil {
		return false, err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return false, err
	}
	done, _, err := r.store.Commit(ctx, store.Change{
		Require: []store.Condition{{Key: used.Key, Revision: used.Revision}, {Key: hostsPrefix, Revision: at, Prefix: true}},
		Put:     append(entries, store.Entry{Key: used.Key, Value: text})})
	return done, err
}
