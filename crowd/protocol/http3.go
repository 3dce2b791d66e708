package protocol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// HTTP3 is HTTP/3 (RFC 9114) over QUIC (RFC 9000). Requests, and the server, are those of HTTP2.
type HTTP3 struct{ HTTP2 }

// Network is UDP: QUIC has the rest.
func (HTTP3) Network() string { return "udp" }

const (
	// handshakeTime is how long a client waits for a server that says nothing: about as long as TCP tries by default
	// (tcp_syn_retries, ip-sysctl). People give up earlier.
	handshakeTime = 2 * time.Minute
	// keepAlive is how often a connection says that it is kept: half of the 30 s after which quic-go, and programs that are made with
	// it, let one go on which nothing happens.
	keepAlive = 15 * time.Second
)

// quicSettings: the server opens no streams of requests. Packets have 1,280 bytes at most: an ICMP error about a larger one, by which
// their size would be found out, would end the connection, as its socket is connected.
var quicSettings = quic.Config{HandshakeIdleTimeout: handshakeTime, KeepAlivePeriod: keepAlive, MaxIncomingStreams: -1, DisablePathMTUDiscovery: true}

// quicStreams is a QUIC connection that carries any number of requests at once.
type quicStreams struct {
	net.Conn // the socket
	*http3.ClientConn
	transport *quic.Transport
	lateness
}

// LocalAddr and RemoteAddr are those of the socket.
func (q *quicStreams) LocalAddr() net.Addr  { return q.Conn.LocalAddr() }
func (q *quicStreams) RemoteAddr() net.Addr { return q.Conn.RemoteAddr() }

// SetDeadline ends the connection, if the time has passed. Other deadlines there are none.
func (q *quicStreams) SetDeadline(at time.Time) error {
	if !q.note(at) {
		return nil
	}
	return q.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeRequestCanceled), "")
}

// Close ends all requests, and says so to the server. It waits for nobody.
func (q *quicStreams) Close() error {
	q.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "") // which never fails
	return errors.Join(q.transport.Close(), q.Conn.Close())
}

// packets is a UDP socket, with all that quic-go asks of one.
type packets interface {
	net.Conn
	quic.OOBCapablePacketConn
	SetWriteBuffer(bytes int) error
}

// connected is a UDP socket that is connected: the kernel takes no address with a packet.
type connected struct{ packets }

// WriteMsgUDP sends a packet to where the socket is connected.
func (c connected) WriteMsgUDP(b, oob []byte, _ *net.UDPAddr) (n, oobn int, err error) {
	return c.packets.WriteMsgUDP(b, oob, nil)
}

// Begin makes the QUIC connection over a socket. A socket that is none of UDP is a mistake of the caller's.
func (h HTTP3) Begin(ctx context.Context, c net.Conn) (net.Conn, error) {
	t := &quic.Transport{Conn: connected{c.(packets)}}
	config := h.TLS.Clone()
	config.NextProtos = []string{http3.NextProtoH3}
	made, err := t.Dial(ctx, c.RemoteAddr(), config, &quicSettings)
	if err != nil {
		t.Close()
		c.Close()
		return nil, fmt.Errorf("make QUIC connection: %w", known(err))
	}
	over := http3.Transport{DisableCompression: true, MaxResponseHeaderBytes: answerHead}
	return &quicStreams{Conn: c, ClientConn: over.NewClientConn(made), transport: t}, nil
}
