package join

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/heddle-network/heddle"
)

// doorCaller calls join doors of one cluster, identified by its authority.
type doorCaller struct {
	pin [16]byte
	// host is the caller's certificate; without a key there is none.
	host pair
	now  func() time.Time
	// named requires that the door's certificate contains the address that is called. So
	// the certificate of a host that kept the store earlier works at no other address.
	named bool
}

// doorAddress completes an address with the door's port.
func doorAddress(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = s, strconv.Itoa(int(DoorPort))
		if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
			host = host[1 : n-1]
		}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil || host == "" {
		return "", heddle.Errorf(heddle.BadArgument, "read flag", "--join", strconv.Quote(heddle.Clip(s))+" is not an address",
			"give the underlay address of a host that keeps the store, such as 192.0.2.1 or [2001:db8::1]:9478")
	}
	return net.JoinHostPort(host, port), nil
}

// call posts a request to a door and reads the reply.
func (c doorCaller) call(ctx context.Context, address, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, doorTime+5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", "https://"+address+path, bytes.NewReader(body))
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "call join door", address, err, "give an address with --join")
	}
	req.Header.Set("Content-Type", "application/json")
	t := &http.Transport{TLSClientConfig: c.tls(address), DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second,
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, MaxResponseHeaderBytes: maxDoorReply}
	resp, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return doorFailed(address, err)
	}
	defer resp.Body.Close()
	d := json.NewDecoder(io.LimitReader(resp.Body, maxDoorReply))
	if resp.StatusCode == http.StatusOK {
		err = d.Decode(out)
	} else {
		e := &heddle.Error{}
		if err = d.Decode(e); err == nil && e.Op != "" {
			return e
		}
	}
	if err != nil {
		return notADoor(address, "it answered "+resp.Status)
	}
	return nil
}

// tls accepts a server of the cluster, at whatever address it is called.
func (c doorCaller) tls(address string) *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS13, Time: c.now,
		InsecureSkipVerify: true, // VerifyConnection does it, with the pinned authority
		VerifyConnection:   func(s tls.ConnectionState) error { return c.verify(address, s.PeerCertificates) },
	}
	if c.host.key != nil {
		config.Certificates = []tls.Certificate{c.host.tls()}
	}
	return config
}

func (c doorCaller) verify(address string, chain []*x509.Certificate) error {
	if chain[0].Subject.CommonName != serverName {
		return notADoor(address, "its certificate is of "+strconv.Quote(chain[0].Subject.CommonName))
	}
	for _, ca := range chain[1:] {
		if fingerprint(ca) == c.pin && verify(ca, chain[0], x509.ExtKeyUsageServerAuth) == nil {
			if host, _, _ := net.SplitHostPort(address); c.named && chain[0].VerifyHostname(host) != nil {
				return notADoor(address, "its certificate is of another address")
			}
			return checkDates(chain[0], c.now(), "this host", time.Time{})
		}
	}
	return heddle.Errorf(heddle.BadToken, "call join door", address, "the host belongs to another cluster than the token",
		"give the address of a host of the token's cluster, or a token of that one")
}

func doorFailed(address string, err error) error {
	var ours *heddle.Error
	var noTLS tls.RecordHeaderError
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &noTLS), errors.Is(err, http.ErrSchemeMismatch):
		return notADoor(address, "it does not speak TLS")
	}
	return heddle.Wrap(heddle.StoreDown, "call join door", address, err,
		"check that heddled runs there with --store embedded and keeps the store ('heddle host list'), and that no firewall blocks TCP port "+strconv.Itoa(int(DoorPort)))
}

func notADoor(address, why string) error {
	return heddle.Errorf(heddle.BadArgument, "call join door", address, why,
		"give --join the address of a host that runs heddled and keeps the store")
}

// hostTLS is the TLS configuration for the host's calls to the store. The certificate may
// be renewed.
func (n *Node) hostTLS() *tls.Config {
	c := n.callTLS()
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		cert := n.host.Load().tls()
		return &cert, nil
	}
	return c
}

func (n *Node) callTLS() *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(n.ca)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Time: n.opt.Now}
}
