package join

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
)

// The bounds of tokens.
const (
	maxTokenUses = 10000
	maxTokenLife = 90 * 24 * time.Hour
)

// Operator is an operator's access to an embedded store, by a connection of its own. So it
// still works when the host stops keeping the store, which the operator may have asked
// for.
type Operator struct {
	roster
	node *Node
	// rehearses says that nothing is to be changed.
	rehearses bool
	// cert is the certificate of the operator.
	cert pair
}

// Operator returns the operator's access: with a given credential (the text of an
// operator.pem), or with the host's own one, if it keeps the store. The caller closes it.
func (n *Node) Operator(_ context.Context, credential []byte) (*Operator, error) {
	p, err := n.credential(credential)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r, err := n.connectLocked(p, n.endpoints)
	return &Operator{roster: r, node: n, cert: p}, err
}

func (n *Node) credential(given []byte) (pair, error) {
	if len(given) == 0 {
		k, err := n.memberKeys()
		if err != nil {
			return pair{}, err
		}
		return k.operator, nil
	}
	p, err := parsePair(given)
	if err == nil && verify(n.ca, p.cert, x509.ExtKeyUsageClientAuth) != nil {
		err = errors.New("it is of another cluster")
	}
	if err == nil && p.cert.Subject.CommonName != operatorName {
		err = fmt.Errorf("it is of %.80q", p.cert.Subject.CommonName)
	}
	if err != nil {
		return pair{}, heddle.Wrap(heddle.NoCredential, "use", "the operator's credential", err,
			"give operator.pem out of the state folder of a host that keeps the store, with --credential")
	}
	return p, nil
}

// Rehearse has Token, Promote, Demote, Grant, Revoke and what changes where the authority's key is make
// their checks and change nothing: they end with a *store.Rehearsed. Of what else an operator does, only changes through Store are rehearsed.
func (o *Operator) Rehearse() {
	o.store, o.rehearses = store.Rehearse(o.store), true
}

// Store is the record, with the operator's rights.
func (o *Operator) Store() store.Store { return o.store }

// Close ends the access.
func (o *Operator) Close() error { return o.store.Close() }

// Token makes a token that lets in the given number of hosts for the given time, and gives
// them rights. The admissions of these hosts contain the token's name.
func (o *Operator) Token(ctx context.Context, life time.Duration, uses int, may ...string) (text, name string, expires time.Time, err error) {
	if life < time.Second || life > maxTokenLife {
		return "", "", time.Time{}, heddle.Errorf(heddle.BadArgument, "read flag", "--ttl",
			life.String()+" is out of bounds", "give 1s to "+maxTokenLife.String())
	}
	if uses < 1 || uses > maxTokenUses {
		return "", "", time.Time{}, heddle.Errorf(heddle.BadArgument, "read flag", "--uses",
			fmt.Sprintf("%d is out of bounds", uses), fmt.Sprintf("give 1 to %d", maxTokenUses))
	}
	if err := CheckRights(may); err != nil {
		return "", "", time.Time{}, err
	}
	old, err := o.outdated(ctx)
	if err != nil {
		return "", "", time.Time{}, err
	}
	t := newToken(fingerprint(o.node.ca))
	expires = o.node.opt.Now().Add(life).UTC().Truncate(time.Second)
	record, err := json.Marshal(tokenRecord{Expires: expires, Uses: uses, May: slices.Compact(slices.Sorted(slices.Values(may)))})
	if err != nil {
		return "", "", time.Time{}, err
	}
	key := tokensPrefix + t.hash()
	_, _, err = o.store.Commit(ctx, store.Change{Require: []store.Condition{{Key: key}}, Put: []store.Entry{{Key: key, Value: record}}, Delete: old})
	return t.String(), t.label(), expires, err
}

// outdated lists tokens, at most a hundred, that expired a week ago or earlier. Until
// then, a host that comes with one is told that it expired.
func (o *Operator) outdated(ctx context.Context) ([]string, error) {
	snap, err := o.store.Read(ctx, tokensPrefix)
	if err != nil {
		return nil, err
	}
	var old []string
	for _, e := range snap.Entries {
		var t tokenRecord
		if json.Unmarshal(e.Value, &t) == nil && o.node.opt.Now().After(t.Expires.Add(7*24*time.Hour)) && len(old) < 100 {
			old = append(old, e.Key)
		}
	}
	return old, nil
}

// Expel takes the rights away from a host's certificates, and removes the host from the
// store's members. After that no token lets it in again, whether or not it ever appeared.
func (o *Operator) Expel(ctx context.Context, name string) error {
	return retryWhileDown(ctx, func() error { return o.expel(ctx, name) })
}

func (o *Operator) expel(ctx context.Context, name string) error {
	s, err := o.state(ctx)
	if err != nil {
		return err
	}
	if id := s.idOf(name); id != "" {
		if err := o.recordRemoval(ctx, name, id); err != nil {
			return err
		}
	}
	for _, m := range s.members {
		if s.hostOf(m) == name {
			if err := o.removeMemberInTime(ctx, m); err != nil {
				return err
			}
		}
	}
	if err := o.DropRights(ctx, name); err != nil {
		return err
	}
	_, _, err = o.store.Commit(ctx, store.Change{Delete: []string{AdmittedPrefix + name}, DeletePrefix: []string{hostsPrefix + name + "/"}})
	return err
}

// DropRights takes the rights away from a host's certificates, and does nothing else. It
// needs no room in the store.
func (o *Operator) DropRights(ctx context.Context, name string) error {
	users, err := o.usersOf(ctx, name)
	if err != nil {
		return err
	}
	for _, u := range users {
		if err := o.revoke(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// recordRemoval records that a host was removed, if it never appeared and the cluster has not
// recorded it.
func (o *Operator) recordRemoval(ctx context.Context, name, id string) error {
	text, err := json.Marshal(map[string]any{"name": name, "at": o.node.opt.Now().UTC()})
	if err == nil {
		key := cluster.Prefix + "removed/" + id
		_, _, err = o.store.Commit(ctx, store.Change{Require: []store.Condition{{Key: key}}, Put: []store.Entry{{Key: key, Value: text}}})
	}
	return err
}

// Doors lists the addresses of the hosts that keep the store, where other hosts may join.
func (n *Node) Doors() []netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []netip.Addr
	for _, e := range n.endpoints {
		if a, err := netip.ParseAddrPort(strings.TrimPrefix(e, "https://")); err == nil {
			all = append(all, a.Addr())
		}
	}
	return all
}

// Roles says of the hosts that keep the store whether each has a vote: "voter" or
// "learner".
func (n *Node) Roles() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	roles := map[string]string{}
	for _, m := range n.members {
		roles[m.Name] = "voter"
		if m.Learner {
			roles[m.Name] = "learner"
		}
	}
	return roles
}
