package link

import (
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/test/poll"
)

// TestChange: a link that is another one delays and loses what comes from then on, and then no more. Who has no link gets
// none.
func TestChange(t *testing.T) {
	user, other := pair(t)
	l := put(t, user, scenario.Link{})
	echo(t, other, far[0])
	c := dial(t, user, far[0])
	says := func(word string) {
		if _, err := c.Write([]byte(word)); err != nil {
			t.Fatal(err)
		}
	}
	hears := func(word string) {
		if _, err := io.ReadFull(c, make([]byte, len(word))); err != nil {
			t.Fatal(err)
		}
	}
	change := func(to scenario.Link) {
		if !l.Change(to, 7, 1) {
			t.Fatal("the user has no link")
		}
	}
	says("sound")
	hears("sound")
	change(scenario.Link{Impairment: impair.Impairment{Delay: 50 * time.Millisecond}, Rate: 1_000_000})
	begun := time.Now()
	says("slow")
	hears("slow")
	if took := time.Since(begun); took < 100*time.Millisecond {
		t.Errorf("answered in %s", took)
	}
	change(scenario.Link{Impairment: impair.Impairment{Loss: 1}})
	before := l.Counted().Lost
	says("lost")
	poll.For(t, time.Minute, time.Millisecond, "a frame is lost", func() bool { return l.Counted().Lost > before })
	if n := unread(t, c); n != 0 {
		t.Errorf("everything is lost, and %d bytes have come", n)
	}
	change(scenario.Link{})
	hears("lost") // TCP has sent it again
	if l.Change(scenario.Link{}, 7, 2) {
		t.Error("a user without a link has one")
	}
}

// unread is how many bytes a connection has for who reads it.
func unread(t *testing.T, c net.Conn) (n int) {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	failed := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCINQ) })
	if failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	return n
}
