package protocol

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/heddle-network/heddle/crowd/payload"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// HTTP is HTTP/1.1 (RFC 9112), with a server that has one file of Content bytes, and serves it for each path. An answer of a
// planned size is a range of it (RFC 9110, 14.2): 206, and exactly those bytes.
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
	// putHead is the size of a head that a body follows, in bytes.
	putHead = 512
	// align is what ranges begin at: a page of memory, of which files are made.
	align = 4 << 10
)

// Port is that of the scheme.
func (h HTTP) Port() uint16 {
	if h.TLS != nil {
		return 443
	}
	return 80
}

// Begin makes the TLS handshake, if there is one.
func (h HTTP) Begin(ctx context.Context, c net.Conn) (net.Conn, error) {
	if h.TLS == nil {
		return c, nil
	}
	secure := tls.Client(c, h.TLS)
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

// Streams: HTTP/1.1 answers one request after the other.
func (HTTP) Streams() bool { return false }

// message is one request, and what must be answered.
type message struct {
	method, path, fields string // fields are lines
	size                 int64  // with the head
	status               int
	answer               int64
}

// readers are shared by all connections: one that waits holds none.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}

// Ask makes the request. One that is larger than a head is a PUT, whose body the server drops, and a GET for the answer: a
// server may answer a PUT before it has the body (RFC 9112, 9.3), but not what comes after it on the connection.
func (h HTTP) Ask(c net.Conn, r Request) error {
	in := readers.Get().(*bufio.Reader)
	in.Reset(c)
	defer func() {
		in.Reset(nil)
		readers.Put(in)
	}()
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
		if err := now.read(in); err != nil {
			return err
		}
		now = next
	}
	if in.Buffered() > 0 {
		return errors.New("read answer: more than was asked for")
	}
	return nil
}

// messages returns what lists the messages of a request, one after the other.
func (h HTTP) messages(r Request) func() (message, bool) {
	left, sends := max(r.Receives, 1), r.Sends
	path := fmt.Sprintf("/%d/%d/%d", r.Site, r.Page, r.Object)
	done := false
	return func() (m message, more bool) {
		headSize := min(sends, scenario.MaxHead)
		switch {
		case done:
			return m, false
		case r.Refused:
			done = true
			m = message{method: http.MethodGet, path: fmt.Sprint(LoginPath, r.Site), status: http.StatusUnauthorized, answer: left}
			m.fields, m.size = "Authorization: Basic YTpi\r\n", headSize
		case sends > scenario.MaxHead:
			m = message{method: http.MethodPut, path: path, size: sends, status: http.StatusNoContent}
			m.fields = fmt.Sprintf("Content-Length: %d\r\n", sends-putHead)
			sends, headSize = 0, putHead
		default:
			size := min(left, Content)
			from := begins(r, size)
			m = message{method: http.MethodGet, path: path, size: sends, status: http.StatusPartialContent, answer: size}
			m.fields = fmt.Sprintf("Range: bytes=%d-%d\r\n", from, from+size-1)
			sends, left = 0, left-size
			done = left == 0
		}
		m.fields += cookie(h.head(m), headSize)
		return m, true
	}
}

// head is a request without its body.
func (h HTTP) head(m message) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: heddle\r\nAccept: */*\r\n%s\r\n", m.method, m.path, h.Host, m.fields)
}

// cookie makes a head as large as it is to be. It has one letter at least.
func cookie(head []byte, size int64) string {
	const line = "Cookie: s=\r\n"
	return line[:len(line)-2] + strings.Repeat("c", max(1, int(size)-len(head)-len(line))) + "\r\n"
}

// begins is where the range of an object begins: each has another one, at the same place each time.
func begins(r Request, size int64) int64 {
	x := uint64(r.Site)*0x9e3779b97f4a7c15 + uint64(r.Page)*0xbf58476d1ce4e5b9 + uint64(r.Object)*0x94d049bb133111eb
	x ^= x >> 31
	return int64(x%uint64((Content-size)/align+1)) * align
}

func (h HTTP) send(c net.Conn, m message) error {
	if err := payload.Send(c, h.head(m), m.size); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	return nil
}

// read reads the answer to its end.
func (m message) read(in *bufio.Reader) error {
	answer, err := http.ReadResponse(in, nil)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return m.check(answer)
}

// check reads an answer to its end, if it is the one that was asked for.
func (m message) check(answer *http.Response) error {
	switch {
	case answer.StatusCode != m.status:
		return fmt.Errorf("read answer: HTTP status %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	case answer.ContentLength != m.answer:
		return errors.New("read answer: its size is not what was asked for")
	}
	if err := payload.Discard(answer.Body, m.answer); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}
