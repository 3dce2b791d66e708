package protocol

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/heddle-network/heddle/crowd/payload"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// message is one request, and what must be answered.
type message struct {
	method, path, fields string // fields are lines
	size                 int64  // with the head
	status               int
	answer               int64
	part                 string // Content-Range of the answer; "" if it has none
}

// messages returns what lists the messages of a request, one after the other.
func (h HTTP) messages(r Request) func() (message, bool) {
	left, sends, has := max(r.Receives, 1), r.Sends, r.Has
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
		case has == Current:
			done = true
			m = message{method: http.MethodGet, path: path, size: headSize, status: http.StatusNotModified}
			m.fields = "If-Modified-Since: " + current + "\r\n"
		case sends > scenario.MaxHead:
			m = message{method: http.MethodPut, path: path, size: sends, status: http.StatusNoContent}
			m.fields = fmt.Sprintf("Content-Length: %d\r\n", sends-putHead)
			sends, headSize = 0, putHead
		default:
			size := min(left, Content)
			from := begins(r, size)
			m = message{method: http.MethodGet, path: path, size: sends, status: http.StatusPartialContent, answer: size}
			m.fields = fmt.Sprintf("Range: bytes=%d-%d\r\n", from, from+size-1)
			m.part = fmt.Sprintf("bytes %d-%d/%d", from, from+size-1, Content)
			if has == Old {
				m.fields += "If-Modified-Since: " + old + "\r\n"
			}
			sends, left, has = 0, left-size, None
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
	case answer.ContentLength != m.answer && m.status != http.StatusNotModified: // which may say how large the answer would have been
		return errors.New("read answer: its size is not what was asked for")
	case answer.Header.Get("Content-Range") != m.part:
		return errors.New("read answer: its range is not what was asked for")
	}
	err := payload.Discard(answer.Body, m.answer)
	more := int64(0)
	if err == nil { // the end comes by itself over HTTP/2, where a body that is closed before cancels the request
		more, err = io.Copy(io.Discard, answer.Body)
	}
	if err == nil && more > 0 {
		err = errors.New("more than was asked for")
	}
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}
