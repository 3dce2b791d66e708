package protocol_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/protocol"
)

// serve is a connection to a server that answers one request, and closes the connection.
func serve(t *testing.T, answer func(io.Writer, *http.Request)) net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			answer(c, r)
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// TestLies: an answer that is not the one that was asked for is an error, which says why.
func TestLies(t *testing.T) {
	const size = 100
	body := strings.Repeat("x", size)
	// said writes a head, in which RANGE is what was asked for, and a body.
	said := func(head, body string) func(io.Writer, *http.Request) {
		return func(w io.Writer, r *http.Request) {
			part := strings.Replace(r.Header.Get("Range"), "=", " ", 1) + fmt.Sprint("/", protocol.Content)
			io.WriteString(w, strings.Replace(head, "RANGE", part, 1)+"\r\n\r\n"+body)
		}
	}
	const good = "HTTP/1.1 206 Partial Content\r\nContent-Length: 100\r\nContent-Range: RANGE"
	for name, x := range map[string]struct {
		answer func(io.Writer, *http.Request)
		want   string
	}{
		"right":          {said(good, body), ""},
		"nothing":        {func(io.Writer, *http.Request) {}, "unexpected EOF"},
		"another range":  {said(strings.Replace(good, "RANGE", "bytes 1-100/16777216", 1), body), "its range is not what was asked for"},
		"no range":       {said(strings.Replace(good, "Content-Range: RANGE", "A: b", 1), body), "its range is not what was asked for"},
		"another size":   {said(strings.Replace(good, "100", "99", 1), body), "its size is not what was asked for"},
		"no size":        {said(strings.Replace(good, "Content-Length: 100", "Transfer-Encoding: chunked", 1), "0\r\n\r\n"), "its size is not what was asked for"},
		"short":          {said(good, body[1:]), "unexpected EOF"},
		"long":           {said(good, body+"x"), "more than was asked for"},
		"the whole file": {said("HTTP/1.1 200 OK\r\nContent-Length: 100", body), "HTTP status 200 OK"},
		"not yet":        {said("HTTP/1.1 103 Early Hints", ""), "HTTP status 103 Early Hints"},
		"no HTTP":        {said("SSH-2.0-OpenSSH", ""), "malformed"},
		"an endless head": {func(w io.Writer, _ *http.Request) {
			io.WriteString(w, "HTTP/1.1 206 Partial Content\r\n")
			for {
				if _, err := io.WriteString(w, "A: "+body+"\r\n"); err != nil {
					return
				}
			}
		}, "its head is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, x.answer)
			err := protocol.HTTP{Host: "crowd-web"}.Ask(c, protocol.Request{Site: 1, Sends: 300, Receives: size})
			if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v; expected %q", err, x.want)
			}
			c.Close()
		})
	}
}
