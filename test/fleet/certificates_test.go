package fleet_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority is an operator's own, whose files lie in a folder.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes one, with its ca.crt.
func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.issue(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// grant makes NAME.crt and NAME.key, for a server if it has addresses, else for a
// user of that name.
func (a *authority) grant(t *testing.T, name string, at ...netip.Addr) {
	t.Helper()
	c := &x509.Certificate{KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}}
	for _, addr := range at {
		c.IPAddresses = append(c.IPAddresses, net.IP(addr.AsSlice()))
	}
	if len(at) == 0 {
		c.Subject = pkix.Name{CommonName: name}
	}
	a.issue(t, name, c)
}

func (a *authority) issue(t *testing.T, name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	check(err)
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	signer, by := a.key, a.cert
	if c.IsCA {
		c.Subject, signer, by = pkix.Name{CommonName: "the operator's authority"}, key, c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by, key.Public(), signer)
	check(err)
	secret, err := x509.MarshalECPrivateKey(key)
	check(err)
	check(os.WriteFile(a.file(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
	check(os.WriteFile(a.file(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
	made, err := x509.ParseCertificate(der)
	check(err)
	return made, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }
