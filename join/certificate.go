package join

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-network/heddle"
)

// pair is a certificate with its private key.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func (p pair) tls() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.cert.Raw}, PrivateKey: p.key, Leaf: p.cert}
}

func certPEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func keyPEM(k *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(k)
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), err
}

// bundle is the operator's credential as one text: authority, certificate, key.
func bundle(ca *x509.Certificate, p pair) ([]byte, error) {
	key, err := keyPEM(p.key)
	return append(append(certPEM(ca), certPEM(p.cert)...), key...), err
}

// parse reads certificates and a key, in any order, out of PEM texts.
func parse(texts ...[]byte) (certs []*x509.Certificate, key *ecdsa.PrivateKey, err error) {
	for _, rest := range texts {
		for {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			switch block.Type {
			case "CERTIFICATE":
				c, err := x509.ParseCertificate(block.Bytes)
				if err != nil {
					return nil, nil, err
				}
				certs = append(certs, c)
			case "EC PRIVATE KEY":
				if key, err = x509.ParseECPrivateKey(block.Bytes); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	return certs, key, nil
}

// parsePair reads a certificate and the key that belongs to it.
func parsePair(texts ...[]byte) (pair, error) {
	certs, key, err := parse(texts...)
	switch {
	case err != nil:
		return pair{}, err
	case len(certs) == 0 || key == nil:
		return pair{}, errors.New("there is no certificate with a key in it")
	}
	for _, c := range certs {
		if key.PublicKey.Equal(c.PublicKey) {
			return pair{c, key}, nil
		}
	}
	return pair{}, errors.New("key and certificate do not belong together")
}

// request asks for a certificate of a name (PKCS #10).
func request(name string, key *ecdsa.PrivateKey) ([]byte, error) {
	return x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
}

// checkDates reports whether a certificate is valid by a clock. whose names the clock;
// other, if not zero, is the time on another host's clock.
func checkDates(c *x509.Certificate, now time.Time, whose string, other time.Time) error {
	var what string
	switch {
	case now.Before(c.NotBefore):
		what = "is not valid yet"
	case now.After(c.NotAfter):
		what = "has expired"
	default:
		return nil
	}
	cause := fmt.Sprintf("it %s: it is valid from %s to %s, and the clock of %s says %s", what,
		formatTime(c.NotBefore), formatTime(c.NotAfter), whose, formatTime(now))
	if !other.IsZero() {
		cause += ", that of the other host " + formatTime(other)
	}
	return heddle.Errorf(heddle.StoreRefused, "use certificate of", c.Subject.CommonName, cause,
		"if a clock is wrong, set it; else join again with a new token of 'heddle host token' (--join ADDR --token-file FILE)")
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// dueForRenewal says that two thirds of a certificate's life have passed, or that the
// clock was ahead when the certificate was made.
func dueForRenewal(c *x509.Certificate, now time.Time) bool {
	return now.After(c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore)/3)) || now.Before(c.NotBefore)
}
