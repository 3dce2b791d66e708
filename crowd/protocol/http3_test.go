package protocol_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/heddle-network/heddle/crowd/protocol"
)

// TestHTTP3Leaves: a server is told at once that somebody has closed a connection, or has given up.
func TestHTTP3Leaves(t *testing.T) {
	signed := httptest.NewTLSServer(nil) // for its certificate
	defer signed.Close()
	l, err := quic.ListenAddr("127.0.0.1:0", &tls.Config{Certificates: signed.TLS.Certificates, NextProtos: []string{http3.NextProtoH3}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	trust := x509.NewCertPool()
	trust.AddCert(signed.Certificate())
	h := protocol.HTTP3{HTTP2: protocol.HTTP2{HTTP: protocol.HTTP{Host: "example.com", TLS: &tls.Config{RootCAs: trust, ServerName: "example.com"}}}}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for name, leave := range map[string]func(net.Conn){
		"closed":   func(c net.Conn) { c.Close() },
		"given up": func(c net.Conn) { c.SetDeadline(time.Unix(1, 0)); c.Close() },
	} {
		socket, err := net.DialUDP("udp", nil, l.Addr().(*net.UDPAddr))
		if err != nil {
			t.Fatal(err)
		}
		c, err := h.Begin(ctx, socket)
		if err != nil {
			t.Fatal(err)
		}
		far, err := l.Accept(ctx)
		if err != nil {
			t.Fatal(err)
		}
		left := time.Now()
		leave(c)
		select {
		case <-far.Context().Done():
			if _, below := c.(interface{ NetConn() net.Conn }); below {
				t.Error("who drops it closes the socket first, and the server is not told")
			}
		case <-time.After(20 * time.Second): // quic-go would notice after 30
			t.Errorf("%s: after %s the server does not know", name, time.Since(left))
		}
	}
}
