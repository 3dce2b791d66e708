package service

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/durable"
)

// certificateLife is ten years. Machines do not look at it: their grants name the certificate itself.
const certificateLife = 10 * 365 * 24 * time.Hour

// The types of PEM blocks.
const certBlock, keyBlock = "CERTIFICATE", "EC PRIVATE KEY"

// certificate is the service's, with its key.
type certificate struct {
	der []byte
	key *ecdsa.PrivateKey
}

func (c certificate) tls() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{c.der}, PrivateKey: c.key}
}

// openCertificate reads the certificate of the folder, or makes it. The key is written first: a key alone is what
// a crash left, and gets a certificate. A certificate alone is an error, for grants name it.
func openCertificate(dir string, now time.Time) (c certificate, err error) {
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	der, err := readPEM(certFile, certBlock)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	made := err == nil
	keyDER, err := readPEM(keyFile, keyBlock)
	switch {
	case err == nil:
		c.key, err = x509.ParseECPrivateKey(keyDER)
	case errors.Is(err, fs.ErrNotExist) && !made:
		c.key, err = makeKey(keyFile)
	}
	if err != nil {
		return c, err
	}
	if !made {
		if der, err = makeCertificate(certFile, c.key, now); err != nil {
			return c, err
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return c, err
	}
	if !c.key.PublicKey.Equal(parsed.PublicKey) {
		return c, errors.New("cert.pem and key.pem do not belong together")
	}
	c.der = der
	return c, nil
}

func makeKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, durable.Replace(file, pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der}))
}

func makeCertificate(file string, key *ecdsa.PrivateKey, now time.Time) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	of := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "heddle-nic"}, NotBefore: now, NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return der, durable.Replace(file, pem.EncodeToMemory(&pem.Block{Type: certBlock, Bytes: der}))
}

// readPEM reads the block of that type out of a file. It refuses a key that others can read.
func readPEM(file, kind string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if kind == keyBlock {
		if err := heddle.CheckSecret(f, "the key of the NIC service", file); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return nil, errors.New(filepath.Base(file) + " has no block " + kind)
		}
		if block.Type == kind {
			return block.Bytes, nil
		}
	}
}
