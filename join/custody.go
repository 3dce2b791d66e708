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
	// confirming is how long a keeper's answer is waited for.
	confirming = 10 * time.Second
)

// authorityRequest asks a keeper, by the operator's certificate, what it has of the
// authority's key; with a key, to keep it in memory for some seconds, or, if they are
// 0, on its disk.
type authorityRequest struct {
	Key     []byte    `json:"key,omitempty"`
	Seconds int64     `json:"seconds,omitempty"`
	Clock   time.Time `json:"clock"`
}

// answerAuthority does what an operator asks for about the authority's key. It is
// never handed out.
func (n *Node) answerAuthority(ctx context.Context, q authorityRequest, c *x509.Certificate) (any, error) {
	if c == nil || verify(n.ca, c, x509.ExtKeyUsageClientAuth) != nil || c.Subject.CommonName != operatorName {
		return nil, heddle.Errorf(heddle.StoreRefused, "the authority's key", "is an operator's concern", "call with the operator's credential")
	}
	if err := checkDates(c, n.opt.Now(), n.opt.Name, q.Clock); err != nil {
		return nil, err
	}
	r, err := n.roster(ctx)
	if err == nil {
		err = n.heedWithdrawal(ctx, r.store)
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
			err = n.borrow(key, time.Duration(min(q.Seconds, int64(maxLending/time.Second)+1))*time.Second)
		}
	}
	return n.holding(), err
}

// Authority is where a cluster's authority's key is.
type Authority struct {
	// Withdrawn is when it was withdrawn from the hosts, zero if it was not; By names
	// the host that the operator called on.
	Withdrawn time.Time `json:"withdrawn,omitzero"`
	By        string    `json:"by,omitempty"`
	// Keepers has what each host that keeps the store has of it, or is named to.
	Keepers []Holding `json:"keepers"`
}

// Authority asks all keepers where the authority's key is.
func (o *Operator) Authority(ctx context.Context) (Authority, error) {
	return o.askKeepers(ctx, authorityRequest{})
}

// WithdrawAuthority takes the authority's key off all keepers' disks, for an operator
// who shows that he has it. One record decides it: keepers delete the key when they
// see that, also those that are away now. Those of whom it is not known say so.
func (o *Operator) WithdrawAuthority(ctx context.Context, key []byte) (Authority, error) {
	if _, err := authorityKey(o.node.ca, key); err != nil {
		return Authority{}, err
	}
	text, err := json.Marshal(withdrawal{At: o.node.opt.Now().UTC(), By: o.node.me.Name})
	if err != nil {
		return Authority{}, err
	}
	_, _, err = o.store.Commit(ctx, store.Change{Require: []store.Condition{{Key: WithdrawnKey}}, Put: []store.Entry{{Key: WithdrawnKey, Value: text}}})
	if err != nil { // if it is there already, that is no error
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
		return Authority{}, heddle.Errorf(heddle.BadArgument, "--for", life.String(), "give 1s to "+maxLending.String())
	}
	w, err := withdrawnNow(ctx, o.store)
	if err != nil {
		return Authority{}, err
	}
	if w == nil {
		return Authority{}, heddle.Errorf(heddle.BadArgument, "the authority's key", "is not withdrawn", "the hosts that keep the store have it: there is nothing to lend")
	}
	return o.askKeepers(ctx, authorityRequest{Key: key, Seconds: int64(life / time.Second)})
}

// ReturnAuthority puts the authority's key back on the keepers' disks. The withdrawal
// is taken back first: a keeper has the key while it does not stand, or not at all.
func (o *Operator) ReturnAuthority(ctx context.Context, key []byte) (Authority, error) {
	if _, err := authorityKey(o.node.ca, key); err != nil {
		return Authority{}, err
	}
	if _, _, err := o.store.Commit(ctx, store.Change{Delete: []string{WithdrawnKey}}); err != nil {
		return Authority{}, err
	}
	return o.askKeepers(ctx, authorityRequest{Key: key})
}

// askKeepers calls the doors of all hosts that keep the store, or are named to. The
// key goes to no other ones.
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
			err := o.ask(ctx, h, q, &a.Keepers[i])
			a.Keepers[i].Host = h.name
			a.Keepers[i].Problem = problem(err)
		})
	}
	calls.Wait()
	return a, nil
}

// problem is an error without what could be done about it, which is for others to say.
func problem(err error) string {
	var ours *heddle.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &ours):
		return ours.Sentence()
	}
	return err.Error()
}

// ask calls a keeper's door at the address that its member of the store has, which
// must be in the door's certificate.
func (o *Operator) ask(ctx context.Context, h admitted, q authorityRequest, got *Holding) error {
	i := slices.IndexFunc(h.Underlay, func(a netip.Addr) bool {
		return slices.ContainsFunc(o.node.opt.Underlay, heddle.FamilyOf(a).Has)
	})
	if i < 0 {
		return heddle.Errorf(heddle.NoPath, "host", h.name+" has no address of a family of this host", "call on another host")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, confirming, errors.New("it did not answer in time"))
	defer cancel()
	q.Clock = o.node.opt.Now()
	c := doorCaller{pin: fingerprint(o.node.ca), host: o.cert, now: o.node.opt.Now, named: true}
	err := c.call(ctx, netip.AddrPortFrom(h.Underlay[i], DoorPort).String(), pathAuthority, q, got)
	if err == nil && got.Host != h.name {
		err = fmt.Errorf("at its address answers %q", got.Host)
	}
	return err
}
