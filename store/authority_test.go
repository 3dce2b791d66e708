package store_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-network/heddle/store"
)

// authority signs the certificates of one test's hosts.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

const serverName = "heddle:server"

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{key, cert}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign issues a certificate that is valid from two hours ago until valid from now, which may be
// negative.
func (a *authority) sign(t *testing.T, name string, use []x509.ExtKeyUsage, valid time.Duration) tls.Certificate {
	t.Helper()
	key := newKey(t)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, ExtKeyUsage: use,
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(valid), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// server writes a member's files.
func (a *authority) server(t *testing.T) *store.ServerTLS {
	t.Helper()
	return a.serverFor(t, time.Hour)
}

func (a *authority) serverFor(t *testing.T, valid time.Duration) *store.ServerTLS {
	t.Helper()
	c := a.sign(t, serverName, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, valid)
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return &store.ServerTLS{
		CA:   write("ca", "CERTIFICATE", a.cert.Raw),
		Cert: write("cert", "CERTIFICATE", c.Certificate[0]), Key: write("key", "PRIVATE KEY", key), PeerName: serverName,
	}
}

// client is what a host uses to reach the members.
func (a *authority) client(t *testing.T, name string, valid time.Duration) *tls.Config {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{a.sign(t, name, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, valid)}}
}
