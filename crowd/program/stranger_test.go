package program_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/program"
)

// approach is a connection of a stranger's.
func (r running) approach(t *testing.T) (from net.Conn) {
	t.Helper()
	err := r.Do(func() (err error) { // it is there: nothing waits
		from, err = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: stranger.AsSlice()}}).Dial("tcp", netip.AddrPortFrom(own, r.Port()).String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close() })
	from.SetDeadline(time.Now().Add(time.Minute))
	return from
}

// TestStrangers: whoever is not admitted gets no byte of an answer, also to what nginx refuses by itself.
func TestStrangers(t *testing.T) {
	authority, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	plain, secure := start(t, nil), start(t, authority)
	large := strings.Repeat("x", 40_000)
	for name, request := range map[string]string{
		"a request": "GET /3/0/0 HTTP/1.1\r\nHost: x\r\n\r\n", "without a host": "GET / HTTP/1.1\r\n\r\n", "no HTTP": "hello\r\n\r\n",
		"another version": "GET / HTTP/3.0\r\nHost: x\r\n\r\n", "TRACE": "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT": "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
		"an unknown encoding": "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\n\r\n", "no length": "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
		"a large head": "GET / HTTP/1.1\r\nHost: x\r\nA: " + large + "\r\n\r\n", "a long path": "GET /" + large + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"a password": "GET /login/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YTpi\r\n\r\n", "a body": "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
	} {
		over := tls.Client(secure.approach(t), &tls.Config{RootCAs: authority.Pool, ServerName: "crowd-web"})
		if err := over.Handshake(); err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]net.Conn{"http": plain.approach(t), "https": over, "http to https": secure.approach(t)} {
			io.WriteString(c, request)
			answer, err := io.ReadAll(c)
			if late, is := err.(net.Error); len(answer) > 0 || is && late.Timeout() {
				t.Errorf("%s, %s: %.100q, %v", what, name, answer, err)
			}
		}
	}
}
