package frames

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/poll"
)

// onLoopback opens a socket on loopback of a namespace of the test's own, and another socket that sends there.
func onLoopback(t *testing.T) (s *Socket, sender net.Conn) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making namespaces needs root")
	}
	runtime.LockOSThread() // and the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	to, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { to.Close() })
	sender, err = net.DialUDP("udp", nil, to.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sender.Close() })
	return s, sender
}

// TestWaited: the time of a frame is that at which the kernel had it, however late it is read.
func TestWaited(t *testing.T) {
	s, sender := onLoopback(t)
	_, err := poll.Until(time.Minute, 0, func() error { // the kernel begins a moment later, and somebody may set the clock
		before := time.Now()
		sender.Write([]byte("hello"))
		after := time.Now()
		time.Sleep(20 * time.Millisecond)
		s.SetReadDeadline(time.Now().Add(time.Minute))
		_, at, err := s.Next()
		if err != nil {
			return poll.Final(err)
		}
		if at.Before(before) || at.After(after) {
			return errors.New("a frame that was sent from " + before.String() + " to " + after.String() + " is of " + at.String())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDropped: each frame is read, or counted.
func TestDropped(t *testing.T) {
	s, sender := onLoopback(t)
	const count, size = 2000, 32 << 10 // 64 MB
	for range count {
		if _, err := sender.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	dropped, err := s.Dropped()
	if err != nil || dropped == 0 || dropped >= count {
		t.Errorf("of %d frames %d were dropped: %v", count, dropped, err)
	}
	if again, err := s.Dropped(); err != nil || again != 0 {
		t.Errorf("counted again are %d: %v", again, err)
	}
}

// TestClosed: the end of a socket is told from errors of frames.
func TestClosed(t *testing.T) {
	s, _ := onLoopback(t)
	s.SetReadDeadline(time.Unix(1, 0))
	if _, _, err := s.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	s.SetReadDeadline(time.Time{})
	ended := make(chan error)
	go func() {
		for {
			if _, _, err := s.Next(); err != nil {
				ended <- err
				return
			}
		}
	}()
	s.Close()
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := s.Dropped(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
