package service

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/payload"
	"github.com/heddle-network/heddle/test/poll"
)

// TestDown: who is connected is reset, who comes is refused, and a server that is sound again is where it was.
func TestDown(t *testing.T) {
	s, to := start(t)
	c := dial(t, to)
	if err := Ask(c, Request{Size: 100, Answer: 100}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice is nothing more
		if err := s.Set(Down); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("an open connection ends with %v", err)
	}
	if c, err := net.Dial("tcp", to); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection is made: %v, %v", c, err)
	}
	if err := s.Set(Sound); err != nil {
		t.Fatal(err)
	}
	if err := Ask(dial(t, to), Request{Size: 100, Answer: 100}); err != nil {
		t.Error(err)
	}
}

// TestStaysDown: somebody else has the port when a server would listen again.
func TestStaysDown(t *testing.T) {
	s, to := start(t)
	if err := s.Set(Down); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set(Silent); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("it listens beside another: %v", err)
	}
	other.Close()
	if err := s.Set(Sound); err != nil {
		t.Error(err)
	}
	if err := Ask(dial(t, to), Request{Size: 100, Answer: 100}); err != nil {
		t.Error(err)
	}
}

// TestAllOrNone: a server that has a place in each family, and cannot listen at one of them again, listens at none.
func TestAllOrNone(t *testing.T) {
	s := &Server{Guests: &Guests{}}
	t.Cleanup(s.Close)
	at := []string{"127.0.0.1:0", "[::1]:0"}
	for i := range at {
		err := s.Serve(func() (net.Listener, error) {
			l, err := net.Listen("tcp", at[i])
			if err == nil {
				at[i] = l.Addr().String()
			}
			return l, err
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Guests.Admit(netip.MustParseAddrPort(at[i]).Addr())
	}
	if err := s.Set(Down); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", at[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set(Sound); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("it listens beside another: %v", err)
	}
	if c, err := net.Dial("tcp", at[0]); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("it listens at one place alone: %v, %v", c, err)
	}
	other.Close()
	if err := s.Set(Sound); err != nil {
		t.Fatal(err)
	}
	for _, to := range at {
		if err := Ask(dial(t, to), Request{Size: 100, Answer: 100}); err != nil {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// TestSilent: requests are taken, and answered when the server is sound again. Who gives up holds nothing.
func TestSilent(t *testing.T) {
	s, to := start(t)
	old := dial(t, to)
	if err := Ask(old, Request{Size: 100, Answer: 100}); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(Silent); err != nil {
		t.Fatal(err)
	}
	answers := make(chan error, 2)
	for _, c := range []net.Conn{old, dial(t, to)} {
		go func() { answers <- Ask(c, Request{Size: 100_000, Answer: 100_000}) }()
	}
	tired := dial(t, to)
	request(t, tired)
	open := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.open)
	}
	poll.For(t, time.Minute, 10*time.Millisecond, "all three are connected", func() bool { return open() == 3 })
	tired.Close()
	poll.For(t, time.Minute, 10*time.Millisecond, "who gave up is forgotten", func() bool { return open() == 2 })
	impatient := dial(t, to)
	impatient.Write(make([]byte, 1))
	select {
	case err := <-answers:
		t.Fatalf("a silent server answers: %v", err)
	default:
	}
	if err := s.Set(Sound); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

// request sends a request of 100 bytes.
func request(t *testing.T, to io.Writer) {
	t.Helper()
	r := Request{Size: 100, Answer: 100}
	head := r.header()
	if err := payload.Send(to, head[:], r.Size); err != nil {
		t.Fatal(err)
	}
}

// TestSilentThenDown: who waits for a silent server is reset when it is down, and not answered; and a silent server can be closed.
func TestSilentThenDown(t *testing.T) {
	s, to := start(t)
	for _, then := range []func(){func() { s.Set(Down) }, s.Close} {
		if err := s.Set(Silent); err != nil {
			t.Fatal(err)
		}
		var all []net.Conn
		for range 50 {
			c := dial(t, to)
			request(t, c)
			all = append(all, c)
		}
		poll.For(t, time.Minute, 10*time.Millisecond, "they are taken", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.open) == len(all)
		})
		then()
		for _, c := range all {
			if n, err := io.ReadFull(c, make([]byte, 1)); n > 0 || err == nil {
				t.Errorf("it was answered: %v", err)
			}
		}
		s.Set(Sound)
	}
}
