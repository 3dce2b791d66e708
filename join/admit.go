package join

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
)

// joinRequest asks for a certificate by a token.
type joinRequest struct {
	Secret []byte `json:"secret"`
	guest
	Underlay []netip.Addr `json:"underlay"`
	// Request is a PKCS #10 request for the guest's certificate.
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
	ID       string       `json:"id"`
	Underlay []netip.Addr `json:"underlay"`
	At       time.Time    `json:"at"`
}

// answerJoin lets a host in that has a token.
func (n *Node) answerJoin(ctx context.Context, q joinRequest, _ *x509.Certificate) (any, error) {
	if err := q.check(n.opt.Now()); err != nil {
		return nil, err
	}
	r, err := n.roster(ctx)
	if err != nil {
		return nil, err
	}
	if _, _, err := r.token(ctx, q, n.opt.Now()); err != nil { // nothing is done for who has none
		return nil, err
	}
	k, err := n.memberKeys()
	if err != nil {
		return nil, err
	}
	cert, err := k.authority.signRequest(q.Request, q.guest.String(), n.opt.Now())
	if err != nil {
		return nil, err
	}
	endpoints, err := r.endpoints(ctx, q.Underlay)
	if err != nil {
		return nil, err
	}
	if err := r.admit(ctx, q, n.opt.Now()); err != nil {
		n.log.Warn("host not let in", "name", q.Name, "id", q.ID, "error", err)
		return nil, err
	}
	if err := r.grant(ctx, q.guest, false); err != nil {
		return nil, err
	}
	n.log.Info("host let in", "name", q.Name, "id", q.ID)
	return joinReply{cert.Raw, n.ca.Raw, endpoints}, nil
}

func (q joinRequest) check(now time.Time) error {
	if err := CheckHostName(q.Name); err != nil {
		return err
	}
	if !hostID.MatchString(q.ID) || len(q.Secret) != 16 || !goodUnderlay(q.Underlay) {
		return heddle.Errorf(heddle.BadJSON, "request to join is", "not whole", "is that program heddled, of this version?")
	}
	if off := q.Clock.Sub(now).Abs(); off > clockSlack {
		return heddle.Errorf(heddle.StoreRefused, "clocks differ by", off.Round(time.Second).String()+": that of "+q.Name+" says "+stamp(q.Clock)+", the one here "+stamp(now),
			"set the wrong one; certificates would not be valid")
	}
	return nil
}

func goodUnderlay(all []netip.Addr) bool {
	ok := len(all) == 1 || len(all) == 2 && all[0].Is4() != all[1].Is4()
	return ok && !slices.ContainsFunc(all, func(a netip.Addr) bool { return !a.IsValid() || a.IsUnspecified() || a.Is4In6() || a.Zone() != "" })
}

// admit checks the token and the name, and records the host: all of it or
// nothing.
func (r roster) admit(ctx context.Context, q joinRequest, now time.Time) error {
	for {
		t, entry, err := r.token(ctx, q, now)
		if err != nil {
			return err
		}
		name, err := r.admittable(ctx, q.guest)
		if err != nil {
			return err
		}
		done, err := r.record(ctx, q, t, entry, name, now)
		if done || err != nil {
			return err
		}
	}
}

// enrol records the host that founds the cluster.
func (r roster) enrol(ctx context.Context, g guest, underlay []netip.Addr, now time.Time) error {
	text, err := json.Marshal(admission{g.ID, underlay, now.UTC()})
	if err == nil {
		_, _, err = r.store.Commit(ctx, store.Change{Put: []store.Entry{{Key: admittedKey(g.Name), Value: text}}})
	}
	return err
}

// record commits an admission, if token and name are still as they were read.
func (r roster) record(ctx context.Context, q joinRequest, t tokenRecord, used, name store.Entry, now time.Time) (bool, error) {
	a := admission{q.ID, q.Underlay, now.UTC()}
	if name.Value != nil {
		var old admission
		if err := json.Unmarshal(name.Value, &old); err != nil {
			return false, err
		}
		a.At = old.At
	}
	token, err := json.Marshal(t)
	if err != nil {
		return false, err
	}
	admitted, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	done, _, err := r.store.Commit(ctx, store.Change{
		Require: []store.Condition{{Key: used.Key, Revision: used.Revision}, {Key: name.Key, Revision: name.Revision}},
		Put:     []store.Entry{{Key: used.Key, Value: token}, {Key: name.Key, Value: admitted}}})
	return done, err
}

// admittable reports whether the name is free, or the host's own already, and
// returns the record of it.
func (r roster) admittable(ctx context.Context, g guest) (store.Entry, error) {
	removed, err := read(ctx, r.store, cluster.Prefix+"removed/"+g.ID)
	if err != nil {
		return removed, err
	}
	if removed.Value != nil {
		return removed, cluster.RemovedError(g.Name)
	}
	entry, err := read(ctx, r.store, admittedKey(g.Name))
	if err != nil || entry.Value == nil {
		return entry, err
	}
	var old admission
	if err := json.Unmarshal(entry.Value, &old); err != nil {
		return entry, err
	}
	if old.ID != g.ID {
		return entry, heddle.Errorf(heddle.HostExists, "host", g.Name+" is in the cluster, with ID "+old.ID+" and not "+g.ID,
			"choose another name with --name; if it is this host, installed anew, remove the old one first ('heddle host remove "+g.Name+"')")
	}
	return entry, nil
}
