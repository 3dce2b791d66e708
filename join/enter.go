package join

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// doorWait is how long a host that joins waits for a door to open.
const doorWait = 5 * time.Second

// lendingTime is how long a host that joins waits for an operator to lend the
// authority's key, lendingPause is between two of its calls.
const (
	lendingTime  = time.Minute
	lendingPause = 2 * time.Second
)

// loadID returns the host's ID, which is created with the folder.
func (n *Node) loadID() (string, error) {
	if text, err := os.ReadFile(n.dir.path(fileID)); err == nil {
		if id := strings.TrimSpace(string(text)); hostID.MatchString(id) {
			return id, nil
		}
	}
	var b [8]byte
	rand.Read(b[:]) // never fails
	id := hex.EncodeToString(b[:])
	return id, n.dir.write(fileID, []byte(id+"\n"))
}

// loadKey returns the host's key. It is created and written before anybody sees it: a host
// that did not get its answer asks again with the same key.
func (n *Node) loadKey() (*ecdsa.PrivateKey, error) {
	if n.dir.has(fileHostKey) {
		text, err := n.dir.read(fileHostKey)
		if err != nil {
			return nil, err
		}
		_, key, err := parse(text)
		if err == nil && key == nil {
			err = errors.New("there is no key in it")
		}
		if err != nil {
			return nil, heddle.Wrap(heddle.LedgerBroken, "read key", n.dir.path(fileHostKey), err,
				"restore the file from a backup, or move the folder away and join again")
		}
		return key, nil
	}
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	text, err := keyPEM(key)
	if err != nil {
		return nil, err
	}
	return key, n.dir.write(fileHostKey, text)
}

// foundCluster makes a cluster with this host alone.
func (n *Node) foundCluster(context.Context) error {
	id, err := n.loadID()
	if err != nil {
		return err
	}
	g := identity{n.opt.Name, id}
	now := n.opt.Now()
	ca, err := newAuthority(now)
	if err != nil {
		return err
	}
	key, err := n.loadKey()
	if err != nil {
		return err
	}
	host, err := ca.sign(g.String(), key.Public(), nil, now, hostLife)
	if err != nil {
		return err
	}
	operator, err := ca.issue(operatorName, nil, now, authorityLife)
	if err != nil {
		return err
	}
	serving, err := ca.issue(serverName, n.opt.Underlay, now, hostLife)
	if err != nil {
		return err
	}
	if err := n.keepKeys(ca, operator, serving); err != nil {
		return err
	}
	r := record{identity: g, Underlay: n.opt.Underlay, Founder: true, Member: true, Initial: map[string]string{g.Name: peerURL(n.opt.Underlay)}}
	n.log.Info("founding a cluster", "name", g.Name, "underlay", joined(n.opt.Underlay))
	return n.saveJoined(r, ca.cert, host, urls(n.opt.Underlay, ClientPort))
}

// keepKeys writes the keys of a member of the store; the authority may be without its key.
func (n *Node) keepKeys(ca authority, operator, serving pair) error {
	credential, err := bundle(ca.cert, operator)
	if err != nil {
		return err
	}
	servingKey, err := keyPEM(serving.key)
	if err != nil {
		return err
	}
	if err := n.dir.remove(dirData, fileAuthorityKey); err != nil {
		return err
	}
	if ca.key != nil {
		if err := n.keepAuthorityKey(ca.key); err != nil {
			return err
		}
	}
	return errors.Join(n.dir.write(fileOperator, credential),
		n.dir.write(fileServerKey, servingKey), n.dir.write(fileServer, certPEM(serving.cert)))
}

func (n *Node) keepAuthorityKey(key *ecdsa.PrivateKey) error {
	text, err := keyPEM(key)
	if err == nil {
		err = n.dir.write(fileAuthorityKey, text)
	}
	return err
}

// saveJoined writes what a host got when it entered a cluster, with the record last.
func (n *Node) saveJoined(r record, ca, host *x509.Certificate, endpoints []string) error {
	pin := fingerprint(ca)
	r.Cluster = hex.EncodeToString(pin[:])
	if err := errors.Join(n.dir.write(fileAuthority, certPEM(ca)), n.dir.write(fileHost, certPEM(host)),
		n.dir.write(fileEndpoints, []byte(strings.Join(endpoints, "\n")+"\n"))); err != nil {
		return err
	}
	return n.saveLocked(r)
}

// join enters a cluster by a token. Until the door has answered, only the host's ID and
// key are written.
func (n *Node) join(ctx context.Context) error {
	t, err := parseToken(n.opt.Token)
	if err != nil {
		return err
	}
	address, err := doorAddress(n.opt.Join)
	if err != nil {
		return err
	}
	id, err := n.loadID()
	if err != nil {
		return err
	}
	key, err := n.loadKey()
	if err != nil {
		return err
	}
	g := identity{n.opt.Name, id}
	csr, err := request(g.String(), key)
	if err != nil {
		return err
	}
	var got joinReply
	err = n.callUntilOpen(ctx, doorCaller{pin: t.pin, now: n.opt.Now}, address, joinRequest{Secret: t.secret[:], identity: g, Underlay: n.opt.Underlay, Request: csr, Clock: n.opt.Now()}, &got, lendingTime)
	if err != nil {
		return err
	}
	ca, err := x509.ParseCertificate(got.Authority)
	if err != nil || fingerprint(ca) != t.pin {
		return notADoor(address, "it answered with an authority that is not the token's")
	}
	cert, err := x509.ParseCertificate(got.Certificate)
	if err == nil {
		err = verify(ca, cert, x509.ExtKeyUsageClientAuth)
	}
	if err != nil || !key.PublicKey.Equal(cert.PublicKey) || len(got.Endpoints) == 0 {
		return notADoor(address, "it answered with a certificate that cannot be used")
	}
	if err := checkDates(cert, n.opt.Now(), "this host", time.Time{}); err != nil {
		return err
	}
	n.log.Info("joined", "name", g.Name, "by", address)
	return n.saveJoined(record{identity: g, Underlay: n.opt.Underlay}, ca, cert, got.Endpoints)
}

// callUntilOpen calls a door that may not be open yet, since hosts start together. If the
// authority's key is off the hosts, it waits for some time for an operator to lend it.
func (n *Node) callUntilOpen(ctx context.Context, c doorCaller, address string, q joinRequest, got *joinReply, lending time.Duration) error {
	began, told := time.Now(), false
	for {
		err := c.call(ctx, address, pathJoin, q, got)
		patience, wait := time.Duration(0), 200*time.Millisecond
		switch {
		case errors.Is(err, heddle.StoreDown.Sentinel()):
			patience = doorWait
		case errors.Is(err, heddle.AuthorityAway.Sentinel()):
			patience, wait = lending, lendingPause
			if !told {
				told = true
				n.log.Warn("not let in yet: asked again for a while", "every", wait, "for", patience, "error", err)
			}
		}
		if time.Since(began) >= patience {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}
