package protocol

import (
	"context"
	"crypto/tls"
	"net"
)

// visit is a connection on which somebody has logged in, or will.
type visit struct {
	net.Conn
	in bool
}

// NetConn is the connection below.
func (v *visit) NetConn() net.Conn { return below(v.Conn) }

// visiting makes the TLS handshake, if there is one.
func visiting(ctx context.Context, c net.Conn, config *tls.Config) (net.Conn, error) {
	c, err := secured(ctx, c, config)
	if err != nil {
		return nil, err
	}
	return &visit{Conn: c}, nil
}
