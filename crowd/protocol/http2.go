package protocol

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// HTTP2 is HTTP/2 over TLS (RFC 9113), with a server like that of HTTP. Requests have no bodies. Heads are compressed, so what
// is on the wire is smaller than what was asked for.
type HTTP2 struct{ HTTP }

// Streams: it is what HTTP/2 is for.
func (HTTP2) Streams() bool { return true }

// streams is a connection that carries any number of requests at once.
type streams struct {
	net.Conn
	*http.ClientConn
	lateness
}

// SetDeadline is that of the connection below. After it no request is made.
func (s *streams) SetDeadline(at time.Time) error {
	s.note(at)
	return s.Conn.SetDeadline(at)
}

// Close ends all requests.
func (s *streams) Close() error { return errors.Join(s.ClientConn.Close(), s.NetConn().Close()) }

// NetConn is the connection below.
func (s *streams) NetConn() net.Conn { return s.Conn.(*tls.Conn).NetConn() }

// lateness is whether the deadline of a connection has passed. Of a request that begins then, libraries say only that the
// connection cannot be used.
type lateness struct{ passed atomic.Bool }

// note notes a deadline, and reports whether it has passed. Only one that has is noted.
func (l *lateness) note(deadline time.Time) bool {
	if deadline.IsZero() || deadline.After(time.Now()) {
		return false
	}
	l.passed.Store(true)
	return true
}

// late reports whether the deadline has passed.
func (l *lateness) late() bool { return l.passed.Load() }

// Begin makes the TLS handshake, and agrees upon HTTP/2.
func (h HTTP2) Begin(ctx context.Context, c net.Conn) (net.Conn, error) {
	secure, err := h.HTTP.Begin(ctx, c)
	if err != nil {
		return nil, err
	}
	t := http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return secure, nil },
		Protocols: new(http.Protocols), DisableCompression: true}
	t.Protocols.SetHTTP2(true)
	one, err := t.NewClientConn(ctx, "https", net.JoinHostPort(h.Host, fmt.Sprint(h.Port())))
	if err == nil && secure.(*tls.Conn).ConnectionState().NegotiatedProtocol != "h2" {
		err = errors.New("the service does not speak HTTP/2")
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("make HTTP/2 connection: %w", err)
	}
	return &streams{Conn: secure, ClientConn: one}, nil
}

// Ask makes the request. A larger answer is several ranges, one after the other.
func (h HTTP2) Ask(c net.Conn, r Request) error {
	all := h.messages(r)
	for {
		m, more := all()
		if !more {
			return nil
		}
		err := h.exchange(c.(http.RoundTripper), m)
		if err != nil && c.(interface{ late() bool }).late() {
			return fmt.Errorf("read answer: %w", os.ErrDeadlineExceeded)
		}
		if err != nil {
			return err
		}
	}
}

func (h HTTP2) exchange(c http.RoundTripper, m message) error {
	if m.size > scenario.MaxHead {
		return errors.New("send request: over HTTP/2 and HTTP/3 it has no body")
	}
	// What HTTP/1.1 would send is what is asked for.
	ask, err := http.NewRequest(m.method, "https://"+h.Host+m.path, nil)
	if err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	for line := range strings.Lines(m.fields) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		ask.Header.Set(name, value)
	}
	answer, err := c.RoundTrip(ask)
	if err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	defer answer.Body.Close()
	return m.check(answer)
}
