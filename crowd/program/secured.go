package program

import (
	"crypto/tls"

	"github.com/heddle-network/heddle/crowd/container"
)

// Where a program with TLS has its certificate and its key.
const (
	certFile = "/etc/cert.pem"
	keyFile  = "/etc/key.pem"
)

// secured returns the files that a program with TLS has, and what people expect of it. Without TLS there are none.
func (s Setting) secured() ([]container.File, *tls.Config, error) {
	if s.Authority == nil {
		return nil, nil, nil
	}
	cert, key, err := s.Authority.Issue(s.Host, s.Addrs)
	if err != nil {
		return nil, nil, err
	}
	return []container.File{text(certFile, cert), text(keyFile, key)}, &tls.Config{RootCAs: s.Authority.Pool, ServerName: s.Host}, nil
}
