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
	// maxHead is the size of the largest request without a body, in bytes: one line of it must fit into what servers take,
	// which is 8 KiB (large_client_header_buffers of nginx, LimitRequestFieldSize of Apache).
	maxHead = 4 << 10
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

// message is one request on the wire, and what must be answered.
type message struct {
	head   []byte
	size   int64 // with the body
	status int
	answer int64
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
	if err := send(c, now); err != nil {
		return err
	}
	for more {
		var next message
		if next, more = all(); more { // the server has it when it is done with this one
			if err := send(c, next); err != nil {
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
		switch {
		case done:
			return m, false
		case r.Refused:
			done = true
			m = message{status: http.StatusUnauthorized, answer: left}
			m.head = h.head(http.MethodGet, fmt.Sprint(LoginPath, r.Site), "Authorization: Basic YTpi\r\n", min(sends, maxHead))
			m.size = int64(len(m.head))
		case sends > maxHead:
			body := sends - int64(len(h.head(http.MethodPut, path, fmt.Sprintf("Content-Length: %d\r\n", sends), 0)))
			m = message{size: sends, status: http.StatusNoContent}
			m.head = h.head(http.MethodPut, path, fmt.Sprintf("Content-Length: %d\r\n", body), sends-body)
			sends = 0
		default:
			size := min(left, Content)
			from := begins(r, size)
			m = message{status: http.StatusPartialContent, answer: size}
			m.head = h.head(http.MethodGet, path, fmt.Sprintf("Range: bytes=%d-%d\r\n", from, from+size-1), sends)
			m.size = int64(len(m.head))
			sends, left = 0, left-size
			done = left == 0
		}
		return m, true
	}
}

// head is that of a request. A cookie makes it as large as planned; it has one letter at least.
func (h HTTP) head(method, path, field string, size int64) []byte {
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: heddle\r\nAccept: */*\r\n%sCookie: s=", method, path, h.Host, field)
	const end = "\r\n\r\n"
	b = append(b, strings.Repeat("c", max(1, int(size)-len(b)-len(end)))...)
	return append(b, end...)
}

// begins is where the range of an object begins: each has another one, at the same place each time.
func begins(r Request, size int64) int64 {
	x := uint64(r.Site)*0x9e3779b97f4a7c15 + uint64(r.Page)*0xbf58476d1ce4e5b9 + uint64(r.Object)*0x94d049bb133111eb
	x ^= x >> 31
	return int64(x%uint64((Content-size)/align+1)) * align
}

func send(c net.Conn, m message) error {
	if err := payload.Send(c, m.head, m.size); err != nil {
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
