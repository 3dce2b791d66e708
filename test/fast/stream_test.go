package fast_test

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// bulkTime is how long a transfer may take on a machine that is busy, or emulated.
var bulkTime = 30 * time.Second * world.Slowness

// bulk is how much is sent at once.
func bulk() int {
	if vm.InGuest() {
		return 300_000
	}
	return 4_000_000
}

// echo sends random bytes to a server of package world, which sends them back, and
// compares what comes.
func echo(from world.Netns, to netip.AddrPort, size int) error {
	c, err := from.Dial("tcp", netip.AddrPort{}, to, 5*world.Patience)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(bulkTime))
	back := bufio.NewReader(c)
	if _, err := back.ReadString('\n'); err != nil {
		return fmt.Errorf("no greeting from %s to %s: %w", to, from.Name, err)
	}
	sent, got := sha256.New(), sha256.New()
	failed := make(chan error, 1)
	go func() {
		w := bufio.NewWriterSize(c, 1<<20) // few large writes: segments are made of what is there
		_, err := io.CopyN(io.MultiWriter(w, sent), random(), int64(size))
		failed <- errors.Join(err, w.Flush(), c.(*net.TCPConn).CloseWrite())
	}()
	n, err := io.Copy(got, back)
	if err = errors.Join(err, <-failed); err != nil || int(n) != size || string(got.Sum(nil)) != string(sent.Sum(nil)) {
		return fmt.Errorf("%d of %d bytes from %s to %s came back (the same: %t): %w", n, size, from.Name, to, string(got.Sum(nil)) == string(sent.Sum(nil)), err)
	}
	return nil
}

func random() io.Reader { return rand.NewChaCha8([32]byte{1}) }

// breath is between two rounds of a stream: hundreds of rounds a second see every gap, and leave the processor to
// what the stream outlives.
const breath = 3 * time.Millisecond

// stream is a connection that carries a bit of data to and fro, all the time.
type stream struct {
	name   string
	rounds atomic.Int64
	ending atomic.Bool
	result chan error
}

func newStream(t *testing.T, from world.Netns, to netip.AddrPort) *stream {
	t.Helper()
	c, err := from.Dial("tcp", netip.AddrPort{}, to, 5*world.Patience)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{name: fmt.Sprintf("%s to %s", from.Name, to), result: make(chan error, 1)}
	back := bufio.NewReader(c)
	go func() {
		defer c.Close()
		s.result <- s.run(c, back)
	}()
	return s
}

func (s *stream) run(c net.Conn, back *bufio.Reader) error {
	c.SetDeadline(time.Now().Add(time.Hour))
	if _, err := back.ReadString('\n'); err != nil {
		return err
	}
	out, in := make([]byte, 20000), make([]byte, 20000)
	random().Read(out)
	for i := 0; !s.ending.Load(); i++ {
		out[0] = byte(i)
		if _, err := c.Write(out); err != nil {
			return err
		}
		if _, err := io.ReadFull(back, in); err != nil {
			return err
		}
		if string(in) != string(out) {
			return errors.New("other bytes came back")
		}
		s.rounds.Add(1)
		time.Sleep(breath)
	}
	return nil
}

// goesOn waits for the stream to move.
func (s *stream) goesOn(t *testing.T) {
	t.Helper()
	n := s.rounds.Load()
	world.Within(t, 30*world.Patience, "the stream "+s.name+" goes on", func() error {
		if s.rounds.Load() < n+3 {
			return errors.New("it stands")
		}
		return nil
	})
}

func (s *stream) end(t *testing.T) {
	t.Helper()
	s.ending.Store(true)
	if err := <-s.result; err != nil {
		t.Errorf("%s, after %d rounds: %v", s.name, s.rounds.Load(), err)
	}
}
