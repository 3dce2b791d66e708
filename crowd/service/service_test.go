package service

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"
)

// chunk is how much is sent at once.
const chunk = 32 << 10

func start(t *testing.T) (*Server, string) {
	t.Helper()
	s, at := &Server{Guests: &Guests{}}, "127.0.0.1:0"
	s.Guests.Admit(netip.MustParseAddr("127.0.0.1"))
	err := s.Serve(func() (net.Listener, error) {
		l, err := net.Listen("tcp", at)
		if err == nil {
			at = l.Addr().String() // the same one, when it listens again
		}
		return l, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, at
}

func dial(t *testing.T, to string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(30 * time.Second))
	return c
}

// counter counts what passes a connection.
type counter struct {
	net.Conn
	sent, received int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent += int64(n)
	return n, err
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received += int64(n)
	return n, err
}

// TestAsk: as many bytes pass each way as a request says, one after the other on one connection.
func TestAsk(t *testing.T) {
	_, to := start(t)
	c := &counter{Conn: dial(t, to)}
	for _, x := range []struct{ r, want Request }{
		{Request{Size: 36, Answer: 44}, Request{Size: 36, Answer: 44}}, {Request{}, Request{Size: headerSize, Answer: 1}}, {Request{Size: chunk + 1, Answer: 3 * chunk},
			Request{Size: chunk + 1, Answer: 3 * chunk}}, {Request{Size: 1e6, Answer: 1}, Request{Size: 1e6, Answer: 1}}, {Request{Size: 328, Answer: 100_000, Known: true}, Request{Size: 328, Answer: 1}}, {Request{Size: chunk, Answer: chunk},
			Request{Size: chunk, Answer: chunk}}} {
		c.sent, c.received = 0, 0
		if err := Ask(c, x.r); err != nil {
			t.Fatal(err)
		}
		if c.sent != x.want.Size || c.received != x.want.Answer {
			t.Errorf("%+v: %d bytes were sent, %d received", x.r, c.sent, c.received)
		}
	}
	for _, r := range []Request{{Size: 1<<32 + 5, Answer: maxSize}, {Size: headerSize, Answer: 1}, {Size: headerSize, Answer: maxSize, Known: true}} {
		h := r.header()
		if got, err := readRequest(bytes.NewReader(h[:])); err != nil || got != r {
			t.Errorf("%+v is read as %+v, %v", r, got, err)
		}
	}
}

// TestRefuses: what is no request ends the connection, and no other one.
func TestRefuses(t *testing.T) {
	_, to := start(t)
	other := dial(t, to)
	for _, bad := range [][]byte{make([]byte, headerSize), bytes.Repeat([]byte{0xff}, headerSize),
		{0, 0, 0, 0, 0, 11, 0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0}} {
		c := dial(t, to)
		c.Write(bad)
		if b, err := io.ReadAll(c); len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%x was answered: %x, %v", bad, b, err)
		}
	}
	if err := Ask(other, Request{Size: 100, Answer: 100}); err != nil {
		t.Error(err)
	}
}

// TestClose: a server that ends leaves nothing, and says so to who is connected.
func TestClose(t *testing.T) {
	s, to := start(t)
	c := dial(t, to)
	if err := Ask(c, Request{Size: 100, Answer: 100}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := Ask(c, Request{Size: 100, Answer: 100}); err == nil {
		t.Error("a closed server answers")
	}
	if c, err := net.Dial("tcp", to); err == nil {
		c.Close()
		t.Error("a closed server takes connections")
	}
	if len(s.open) != 0 {
		t.Errorf("%d connections are left", len(s.open))
	}
}

// TestAdmit: who is not admitted gets no answer, and others still do.
func TestAdmit(t *testing.T) {
	_, to := start(t)
	stranger := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	c, err := stranger.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	if err := Ask(c, Request{}); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a stranger: %v", err)
	}
	if err := Ask(dial(t, to), Request{}); err != nil {
		t.Error(err)
	}
}

// TestDismiss: who is admitted no more is cut off, and comes no more; others stay connected.
func TestDismiss(t *testing.T) {
	s, to := start(t)
	guest := netip.MustParseAddr("127.0.0.2")
	s.Guests.Admit(guest)
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: guest.AsSlice()}}
	stays := dial(t, to)
	goes, err := from.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer goes.Close()
	goes.SetDeadline(time.Now().Add(30 * time.Second))
	if err := errors.Join(Ask(stays, Request{}), Ask(goes, Request{})); err != nil {
		t.Fatal(err)
	}
	s.Guests.Dismiss(guest)
	if err := Ask(goes, Request{}); err != nil {
		t.Errorf("before the sweep: %v", err)
	}
	s.Sweep()
	if _, err := goes.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("who was dismissed reads: %v", err)
	}
	if err := Ask(stays, Request{}); err != nil {
		t.Error(err)
	}
	if again, err := from.Dial("tcp", to); err == nil {
		again.SetDeadline(time.Now().Add(30 * time.Second))
		if err := Ask(again, Request{}); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("who was dismissed comes again: %v", err)
		}
		again.Close()
	}
}
