package join

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

const (
	// maxLending bounds for how long the authority's key is lent.
	maxLending = 24 * time.Hour
	// keeperTimeout is how long to wait for a keeper's answer.
	keeperTimeout = 10 * time.Second
)

// authorityRequest asks a keeper, with the operator's certificate, what it has of the
// authority's key. If the request has a key, the keeper keeps it in memory for some
// seconds, or on its disk if the seconds are 0.
type authorityRequest struct {
	Key     []byte    `json:"key,omitempty"`
	Seconds int64     `json:"seconds,omitempty"`
	Clock   time.Time `json:"clock"`
}

// answerAuthority does what an operator asks for about the authority's key. It never
// returns the key.
func (n *Node) answerAuthority(ctx context.Context, q authorityRequest, c *x509.Certificate) (any, error) {
	if c == nil || verify(n.ca, c, x509.ExtKeyUsageClientAuth) != nil || c.Subject.CommonName != operatorName {
		return nil, heddle.Errorf(heddle.StoreRefused, "manage", "the authority's key", "the caller is no operator",
			"call with the operator's credential")
	}
	if err := checkDates(c, n.opt.Now(), n.opt.Name, q.Clock); err != nil {
		return nil, err
	}
	r, err := n.roster(ctx)
	if err == nil {
		err = n.applyWithdrawal(ctx, r.store)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case len(q.Key) == 0:
	case q.Seconds == 0:
		err = n.restoreAuthorityKey(ctx, r.store, q.Key)
	default:
		key, bad := authorityKey(n.ca, q.Key)
		if err = bad; err == nil {
			err = n.takeLoan(key, time.Duration(min(q.Seconds, int64(maxLending/time.Second)+1))*time.Second)
		}
	}
	return n.keyHolding(), err
}

// Authority says where the key of a cluster's authority is.
type Authority struct {
	// Withdrawn is when the key was withdrawn from the hosts, zero if it was not. By names
	// the host that the operator called.
	Withdrawn time.Time `json:"withdrawn,omitzero"`
	By        string    `json:"by,omitempty"`
	// Keepers says what each host has of the key that keeps the store, or is named to.
	Keepers []Holding `json:"keepers"`
}

// Authority asks all keepers where the authority's key is.
func (o *Operator) Authority(ctx context.Context) (Authority, error) {
	return o.askKeepers(ctx, authorityRequest{})
}

// WithdrawAuthority removes the authority's key from all keepers' disks, for an operator
// who proves that he has the key. One record decides it: keepers delete the key when they
// see the record, even if they cannot be reached now. The result shows the keepers whose
// state is not known.
func (o *Operator) WithdrawAuthority(ctx context.Context, key []byte) (Authority, error) {
	if _, err := authorityKey(o.node.ca, key); err != nil {
		return Authority{}, err
	}
	text, err := json.Marshal(withdrawal{At: o.node.opt.Now().UTC(), By: o.node.me.Name})
	if err != nil {
		return Authority{}, err
	}
	_, _, err = o.store.Commit(ctx, store.Change{Require: []store.Condition{{Key: WithdrawnKey}}, Put: []store.Entry{{Key: WithdrawnKey, Value: text}}})
	if err != nil { // if the record exists already, that is no error
		return Authority{}, err
	}
	return o.Authority(ctx)
}

// LendAuthority gives the keepers the authority's key for a while, in memory.
func (o *Operator) LendAuthority(ctx context.Context, key []byte, life time.Duration) (Authority, error) {
	if _, err := authorityKey(o.node.ca, key); err != nil {
		return Authority{}, err
	}
	if life < time.Second || life > maxLending {
		return Authority{}, heddle.Errorf(heddle.BadArgument, "read flag", "--for",
			life.String()+" is out of bounds", "give 1s to "+maxLending.String())
	}
	w, err := withdrawnNow(ctx, o.store)
	if err != nil {
		return Authority{}, err
	}
	if w == nil {
		return Authority{}, heddle.Errorf(heddle.BadArgument, "lend", "the authority's key",
			"it is not withdrawn: the hosts that keep the store have it",
			"withdraw it first ('heddle host authority withdraw FILE')")
	}
	if o.rehearses {
		return Authority{}, &store.Rehearsed{}
	}
	return o.askKeepers(ctx, authorityRequest{Key: key, Seconds: int64(life / time.Second)})
}

// ReturnAuthority puts the authority's key back on the keepers' disks. It deletes the
// withdrawal first, since a keeper may have the key only without a withdrawal.
func (o *Operator) ReturnAuthority(ctx context.Context, key []byte) (Authority, error) {
	if _, err := authorityKey(o.node.ca, key); err != nil {
		return Authority{}, err
	}
	if _, _, err := o.store.Commit(ctx, store.Change{Delete: []string{WithdrawnKey}}); err != nil {
		return Authority{}, err
	}
	return o.askKeepers(ctx, authorityRequest{Key: key})
}

// askKeepers calls the doors of all hosts that keep the store, or are named to. The key is
// sent to no others.
func (o *Operator) askKeepers(ctx context.Context, q authorityRequest) (Authority, error) {
	var a Authority
	w, err := withdrawnNow(ctx, o.store)
	if err != nil {
		return a, err
	}
	if w != nil {
		a.Withdrawn, a.By = w.At, w.By
	}
	s, err := o.state(ctx)
	if err != nil {
		return a, err
	}
	var calls sync.WaitGroup
	keepers := slices.DeleteFunc(s.hosts, func(h admitted) bool { return !h.keeper && !s.keeps(h.name) })
	a.Keepers = make([]Holding, len(keepers))
	for i, h := range keepers {
		calls.Go(func() {
			err := o.askKeeper(ctx, h, q, &a.Keepers[i])
			a.Keepers[i].Host = h.name
			if err != nil {
				a.Keepers[i].Problem = heddle.SentenceOf(err)
			}
		})
	}
	calls.Wait()
	return a, nil
}

// askKeeper calls a keeper's door at the address of its member of the store. The door's
// certificate must contain this address.
func (o *Operator) askKeeper(ctx context.Context, h admitted, q authorityRequest, got *Holding) error {
	i := slices.IndexFunc(h.Underlay, func(a netip.Addr) bool {
		return slices.ContainsFunc(o.node.opt.Underlay, heddle.FamilyOf(a).Has)
	})
	if i < 0 {
		return heddle.Errorf(heddle.NoPath, "call host", h.name, "it has no address of a family of this host",
			"make the call on another host")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, keeperTimeout, errors.New("it did not answer in time"))
	defer cancel()
	q.Clock = o.node.opt.Now()
	c := doorCaller{pin: fingerprint(o.node.ca), host: o.cert, now: o.node.opt.Now, named: true}
	err := c.call(ctx, netip.AddrPortFrom(h.Underlay[i], DoorPort).String(), pathAuthority, q, got)
	if err == nil && got.Host != h.name {
		err = fmt.Errorf("host %q answers at its address", got.Host)
	}
	return err
}
