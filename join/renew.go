package join

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
)

// callDoors calls the doors of those that keep the store, in random order, until
// one answers.
func (n *Node) callDoors(ctx context.Context, path string, in, out any) error {
	c := doorCaller{pin: fingerprint(n.ca), host: *n.host.Load(), now: n.opt.Now}
	doors := n.Doors()
	rand.Shuffle(len(doors), func(i, j int) { doors[i], doors[j] = doors[j], doors[i] })
	err := error(heddle.Errorf(heddle.StoreDown, "call", "the hosts that keep the store", "none is known",
		"wait until one of them is up"))
	for _, addr := range doors {
		err = c.call(ctx, netip.AddrPortFrom(addr, DoorPort).String(), path, in, out)
		if !errors.Is(err, heddle.StoreDown.Sentinel()) && !errors.Is(err, heddle.AuthorityAway.Sentinel()) {
			return err
		}
	}
	return err
}

// renew replaces certificates after two thirds of their life, and keeps their keys.
func (n *Node) renew(ctx context.Context) error {
	n.mu.Lock()
	host, keys := *n.host.Load(), n.keys
	n.mu.Unlock()
	now := n.opt.Now()
	var unserved error
	if keys != nil && dueForRenewal(keys.serving.cert, now) {
		unserved = n.renewServing(keys)
	}
	if !dueForRenewal(host.cert, now) {
		return unserved
	}
	cert, err := n.newCertificate(ctx, host)
	if err == nil {
		err = n.dir.write(fileHost, certPEM(cert))
	}
	if err != nil {
		return err
	}
	n.host.Store(&pair{cert, host.key})
	n.log.Info("certificate renewed", "until", cert.NotAfter)
	return unserved
}

// renewServing renews the certificate that a keeper serves with.
func (n *Node) renewServing(keys *keys) error {
	ca, err := n.signer()
	if err != nil {
		return err
	}
	cert, err := ca.sign(serverName, keys.serving.key.Public(), n.opt.Underlay, n.opt.Now(), hostLife)
	if err == nil {
		err = n.dir.write(fileServer, certPEM(cert))
	}
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	keys.serving.cert = cert
	return nil
}

// newCertificate gets a new certificate: by the host itself if it keeps the store and
// has the authority's key, else through a door.
func (n *Node) newCertificate(ctx context.Context, host pair) (*x509.Certificate, error) {
	if ca, err := n.signer(); err == nil {
		return ca.sign(n.me.String(), host.key.Public(), nil, n.opt.Now(), hostLife)
	}
	if err := checkDates(host.cert, n.opt.Now(), "this host", time.Time{}); err != nil {
		return nil, err
	}
	csr, err := request(n.me.String(), host.key)
	if err != nil {
		return nil, err
	}
	var got renewReply
	if err := n.callDoors(ctx, pathRenew, renewRequest{csr, n.opt.Now()}, &got); err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(got.Certificate)
	if err == nil {
		err = verify(n.ca, cert, x509.ExtKeyUsageClientAuth)
	}
	return cert, err
}

// registerKey makes the cluster record this host's key, if an earlier version let the host in:
// when the host renews its certificate, a door learns the key from it.
func (n *Node) registerKey(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, balanceTimeout)
	defer cancel()
	e, err := read(ctx, n.store, admittedKey(n.me.Name))
	if err != nil || e.Value == nil {
		return err
	}
	var a admission
	if err := json.Unmarshal(e.Value, &a); err != nil || a.Key != "" {
		return err
	}
	host := *n.host.Load()
	csr, err := request(n.me.String(), host.key)
	if err != nil {
		return err
	}
	return n.callDoors(ctx, pathRenew, renewRequest{csr, n.opt.Now()}, &renewReply{})
}
