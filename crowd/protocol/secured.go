package protocol

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
)

// secured makes the TLS handshake, if there is one. It closes a connection on which it fails.
func secured(ctx context.Context, c net.Conn, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return c, nil
	}
	secure := tls.Client(c, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("make TLS connection: %w", known(err))
	}
	return secure, nil
}

// known is what is wrong with a certificate, without names.
func known(err error) error {
	if unknown := (x509.UnknownAuthorityError{}); errors.As(err, &unknown) {
		return errors.New("certificate of an unknown authority")
	}
	if other := (x509.HostnameError{}); errors.As(err, &other) {
		return errors.New("certificate of another name")
	}
	return err
}

// below is the connection that one is made over, or itself: what is closed without taking leave.
func below(c net.Conn) net.Conn {
	if secure, is := c.(*tls.Conn); is {
		return secure.NetConn()
	}
	return c
}
