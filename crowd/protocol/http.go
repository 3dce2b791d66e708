package protocol

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/heddle-network/heddle/crowd/payload"
)

// HTTP is HTTP/1.1 (RFC 9112), with a server that has one file of Content bytes, and serves it for each path. An answer of a
// planned size is a range of it (RFC 9110, 14.2): 206, and exactly those bytes. What a cache has is asked for on the condition
// that it has changed: 304 says that it has not.
type HTTP struct {
	// Host is the service's name.
	Host string
	// TLS is how connections are secured; nil: they are not.
	TLS *tls.Config
}

// What a server has.
const (
	// Content is the size of its file in bytes. A larger answer is several ranges, one after the other; the next one is asked
	// for before the one before has ended.
	Content = 16 << 20
	// LoginPath is the beginning of the paths at which it refuses passwords.
	LoginPath = "/login/"
	// answerHead is how large the head of an answer may be, in bytes. No source: a guess.
	answerHead = 64 << 10
	// putHead is the size of a head that a body follows, in bytes.
	putHead = 512
	// current and old are when that file was changed last, and when its version before was.
	current = "Wed, 01 Jan 2020 00:00:00 GMT"
	old     = "Sun, 01 Dec 2019 00:00:00 GMT"
	// align is what ranges begin at: a page of memory, of which files are made.
	align = 4 << 10
)

// Changed is when the server's file was changed last. Caches know it: they ask for what is newer than theirs (RFC 9110, 13.1.3).
func Changed() time.Time {
	at, _ := http.ParseTime(current) // it is one
	return at
}

// Network is TCP.
func (HTTP) Network() string { return "tcp" }

// Port is that of the scheme.
func (h HTTP) Port() uint16 {
	if h.TLS != nil {
		return 443
	}
	return 80
}

// Begin makes the TLS handshake, if there is one.
func (h HTTP) Begin(ctx context.Context, c net.Conn) (net.Conn, error) {
	return secured(ctx, c, h.TLS)
}

// Streams: HTTP/1.1 answers one request after the other.
func (HTTP) Streams() bool { return false }

// Ask makes the request. One that is larger than a head is a PUT, whose body the server drops, and a GET for the answer: a
// server may answer a PUT before it has the body (RFC 9112, 9.3), but not what comes after it on the connection.
func (h HTTP) Ask(c net.Conn, r Request) error {
	from := &io.LimitedReader{R: c}
	return inTurn(from, func(in *bufio.Reader) error {
		all := h.messages(r)
		now, more := all()
		if err := h.send(c, now); err != nil {
			return err
		}
		for more {
			var next message
			if next, more = all(); more { // the server has it when it is done with this one
				if err := h.send(c, next); err != nil {
					return err
				}
			}
			from.N = answerHead + now.answer
			err := now.read(in)
			if err != nil && from.N <= 0 {
				err = errors.New("read answer: its head is too large")
			}
			if err != nil {
				return err
			}
			now = next
		}
		return nil
	})
}

func (h HTTP) send(c net.Conn, m message) error {
	if err := payload.Send(c, h.head(m), m.size); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	return nil
}
