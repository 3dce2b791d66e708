package join

import (
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-network/heddle"
)

// loan is the authority's key in a keeper's memory, for a limited time. It is never
// written or handed on, and is lost when the agent ends.
type loan struct {
	key   *ecdsa.PrivateKey
	until time.Time
}

// valid reports whether there is a loan now, by both the monotonic clock and the wall
// clock: neither setting a clock back nor suspending the host makes it longer.
func (l loan) valid() bool {
	now := time.Now()
	return l.key != nil && now.Before(l.until) && now.Round(0).Before(l.until.Round(0))
}

// signer is the cluster's authority, on a host that has its key, on disk or lent.
func (n *Node) signer() (authority, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.keys == nil:
		return authority{}, noCredential(n.me.Name)
	case n.keys.authority.key != nil:
		return n.keys.authority, nil
	case n.keys.lent.valid():
		return authority{pair{n.ca, n.keys.lent.key}}, nil
	}
	return authority{}, keyAwayError()
}

func keyAwayError() error {
	return heddle.Errorf(heddle.AuthorityAway, "use", "the authority's key", "it is off the hosts: an operator withdrew it",
		"have an operator lend it with 'heddle host authority lend FILE', on a host that keeps the store")
}

// authorityKey reads the key that belongs to an authority's certificate, and refuses
// any other one.
func authorityKey(ca *x509.Certificate, text []byte) (*ecdsa.PrivateKey, error) {
	_, key, err := parse(text)
	switch {
	case err == nil && key == nil:
		err = errors.New("there is no key in it")
	case err == nil && !key.PublicKey.Equal(ca.PublicKey):
		err = errors.New("it does not fit the certificate of this cluster's authority")
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "use", "the authority's key", err,
			"give the file that 'heddle host authority export' wrote")
	}
	return key, nil
}

// takeLoan takes the key into memory for a time.
func (n *Node) takeLoan(key *ecdsa.PrivateKey, life time.Duration) error {
	if life < time.Second || life > maxLending {
		return heddle.Errorf(heddle.BadArgument, "read flag", "--for", life.String()+" is out of bounds",
			"give 1s to "+maxLending.String())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.keys == nil {
		return noCredential(n.me.Name)
	}
	if n.keys.authority.key != nil {
		return heddle.Errorf(heddle.BadArgument, "lend the authority's key to host", n.me.Name,
			"the host has it on its disk", "withdraw the key first ('heddle host authority withdraw FILE')")
	}
	n.keys.lent = loan{key, time.Now().Add(life)}
	time.AfterFunc(life, n.endLoan)
	n.log.Info("the authority's key is lent to this host", "until", n.keys.lent.until)
	return nil
}

// endLoan forgets a loan that is over.
func (n *Node) endLoan() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.keys != nil && n.keys.lent.key != nil && !n.keys.lent.valid() {
		n.keys.lent = loan{}
		n.log.Info("the loan of the authority's key is over")
	}
}

// Holding is what a host has of the authority's key.
type Holding struct {
	Host string `json:"host"`
	// Disk says that the key is in the host's state folder. Lent is the time until which the host
	// has it in memory.
	Disk bool      `json:"disk,omitempty"`
	Lent time.Time `json:"lent,omitzero"`
	// Problem is why the host has not answered, or has not done what it was asked to.
	Problem string `json:"problem,omitempty"`
}

// keyHolding is what this host has of the authority's key.
func (n *Node) keyHolding() Holding {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := Holding{Host: n.me.Name}
	if n.keys != nil {
		h.Disk = n.keys.authority.key != nil || n.dir.has(fileAuthorityKey)
		if n.keys.lent.valid() {
			h.Lent = n.keys.lent.until.UTC().Truncate(time.Second)
		}
	}
	return h
}

// Custody says where the authority's key is, as far as a host knows without asking others.
type Custody struct {
	// Known says that the store has answered. Withdrawn is when the key was taken off the
	// hosts, zero if it was not.
	Known     bool
	Withdrawn time.Time
	// Keeper says that this host keeps the store. Holding is what it has of the key.
	Keeper  bool
	Holding Holding
	// Ends is when the first of this host's certificates expires; Due says that it should
	// have been renewed by now.
	Ends time.Time
	Due  bool
}

// Custody returns what this host knows, and asks no other host.
func (n *Node) Custody() Custody {
	c := Custody{Holding: n.keyHolding()}
	if w := n.withdrawn.Load(); w != nil {
		c.Known, c.Withdrawn = true, w.At
	}
	certs := []*x509.Certificate{n.host.Load().cert}
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.Keeper = n.keys != nil; c.Keeper {
		certs = append(certs, n.keys.serving.cert)
	}
	for _, x := range certs {
		if c.Ends.IsZero() || x.NotAfter.Before(c.Ends) {
			c.Ends = x.NotAfter
		}
		c.Due = c.Due || dueForRenewal(x, n.opt.Now())
	}
	return c
}

// ExportAuthority returns the authority's certificate and key in PEM. It reads them from
// the disk of a host that keeps the store.
func (o *Operator) ExportAuthority() ([]byte, error) {
	k, err := o.node.memberKeys()
	switch {
	case err != nil:
		return nil, heddle.Errorf(heddle.NoCredential, "export", "the authority's key", "host "+o.node.me.Name+" does not keep the store, and so does not have the key",
			"call on a host that keeps the store ('heddle host list')")
	case k.authority.key == nil:
		return nil, keyAwayError()
	}
	text, err := keyPEM(k.authority.key)
	return append(fmt.Appendf(nil, "The key of the authority of a heddle cluster. Who has it is the cluster.\n%s", certPEM(o.node.ca)), text...), err
}
