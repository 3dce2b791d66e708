package join

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
)

// authority signs the certificates of one cluster.
type authority struct{ pair }

// newAuthority makes a cluster's authority (ECDSA on P-256, ten years).
func newAuthority(now time.Time) (authority, error) {
	key, err := newKey()
	if err != nil {
		return authority{}, err
	}
	serial, err := newSerial()
	if err != nil {
		return authority{}, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "heddle cluster " + serial.Text(36)[:8]},
		NotBefore: now.Add(-clockSlack), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	cert, err := x509.ParseCertificate(der)
	return authority{pair{cert, key}}, err
}

// newSerial is a random number of 127 bits that is not 0.
func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	return new(big.Int).SetBit(n, 126, 1), err
}

// fingerprint identifies a cluster: the first 16 bytes of the SHA-256 of its authority's
// certificate.
func fingerprint(ca *x509.Certificate) [16]byte {
	sum := sha256.Sum256(ca.Raw)
	return [16]byte(sum[:16])
}

// sign certifies a name's key for use as a client (host, operator), and with addresses
// also as a server. No certificate outlives its authority.
func (a authority) sign(name string, public crypto.PublicKey, serving []netip.Addr, now time.Time, life time.Duration) (*x509.Certificate, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-min(clockSlack, life)), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if t.NotAfter.After(a.cert.NotAfter) {
		t.NotAfter = a.cert.NotAfter
	}
	for _, addr := range serving {
		t.IPAddresses = append(t.IPAddresses, net.IP(addr.AsSlice()))
	}
	if len(serving) > 0 {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, public, a.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// issue makes a key and certifies it.
func (a authority) issue(name string, serving []netip.Addr, now time.Time, life time.Duration) (pair, error) {
	key, err := newKey()
	if err != nil {
		return pair{}, err
	}
	cert, err := a.sign(name, key.Public(), serving, now, life)
	return pair{cert, key}, err
}

// requestedKey returns the key in a request (PKCS #10) that must have the expected name and
// be signed with that key.
func requestedKey(der []byte, name string) (crypto.PublicKey, error) {
	r, err := x509.ParseCertificateRequest(der)
	if err == nil {
		err = r.CheckSignature()
	}
	if err == nil && r.Subject.CommonName != name {
		err = fmt.Errorf("it is for %.80q", r.Subject.CommonName)
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.BadJSON, "read certificate request of", name, err,
			"use heddled of the same version on both hosts")
	}
	return r.PublicKey, nil
}

// verify reports whether a certificate is from the authority and for the use, at any date.
func verify(ca, c *x509.Certificate, use x509.ExtKeyUsage) error {
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	_, err := c.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: c.NotAfter, KeyUsages: []x509.ExtKeyUsage{use}})
	return err
}
