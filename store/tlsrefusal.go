package store

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// tlsRefusal finds out whether a server broke a connection because it does not accept this
// host's certificate. In TLS 1.3 the server says so when the client has already finished
// the handshake (RFC 8446, 4.4.3). A client that writes then only learns that the
// connection is closed.
func (e *Etcd) tlsRefusal(ctx context.Context, err error) error {
	if err == nil || e.options.TLS == nil || !broken(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, url := range e.client.Endpoints() {
		if refusal := e.readServerByte(ctx, strings.TrimPrefix(url, "https://")); refusal != nil && refusedByTLS(refusal) {
			return status.Error(codes.Unavailable, refusal.Error())
		}
	}
	return err
}

func broken(err error) bool {
	for _, w := range []string{"broken pipe", "connection reset", "EOF"} {
		if strings.Contains(message(err), w) {
			return true
		}
	}
	return false
}

// readServerByte connects and waits for the first byte from the server.
func (e *Etcd) readServerByte(ctx context.Context, address string) error {
	config := e.options.TLS.Clone()
	config.NextProtos = []string{"h2"}
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: 500 * time.Millisecond}, Config: config}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond)) // of a connection that is open
	_, err = conn.Read(make([]byte, 1))
	return err
}
