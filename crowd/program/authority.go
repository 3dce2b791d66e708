package program

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/netip"
	"time"
)

// Authority is a certificate authority for one crowd. Its key is in memory alone.
type Authority struct {
	// Pool is what users trust.
	Pool *x509.CertPool
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// lifetime of certificates: that of the longest crowd, and a while.
const lifetime = 14 * 24 * time.Hour

// NewAuthority makes an authority.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	a := &Authority{Pool: x509.NewCertPool(), key: key}
	own := template(1, "crowd authority")
	own.IsCA, own.BasicConstraintsValid, own.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, own, own, key.Public(), key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	a.Pool.AddCert(a.cert)
	return a, nil
}

// template is a certificate that is valid from an hour ago, as clocks differ.
func template(serial int64, name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(lifetime)}
}

// Issue makes a key, and a certificate for it in the name of a host, both in PEM.
func (a *Authority) Issue(host string, addrs []netip.Addr) (cert, key string, err error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("make key: %w", err)
	}
	t := template(time.Now().UnixNano(), "")
	t.DNSNames, t.KeyUsage, t.ExtKeyUsage = []string{host}, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, one := range addrs {
		t.IPAddresses = append(t.IPAddresses, one.AsSlice())
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, own.Public(), a.key)
	if err != nil {
		return "", "", fmt.Errorf("sign certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return "", "", fmt.Errorf("write key: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})), nil
}
