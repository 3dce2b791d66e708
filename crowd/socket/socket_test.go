package socket

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/poll"
)

func holder(t *testing.T) *Holder {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making namespaces needs root")
	}
	h, err := NewHolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func namespace(t *testing.T, h *Holder) Namespace {
	t.Helper()
	n, err := h.New()
	if err != nil {
		t.Fatal(err)
	}
	up := exec.Command("nsenter", "--net="+n.Path(), "ip", "link", "set", "lo", "up")
	if out, err := up.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return n
}

// TestNamespace: sockets are in the namespace, and nowhere else, in both families.
func TestNamespace(t *testing.T) {
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	h := holder(t)
	a, b := namespace(t, h), namespace(t, h)
	for _, at := range []string{"127.0.0.1:7101", "[::1]:7101"} {
		to := netip.MustParseAddrPort(at)
		l, err := a.Listen(to)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				io.Copy(c, c)
				c.Close()
			}
		}()
		var from netip.AddrPort
		c, err := a.Dial(context.Background(), to, func(a netip.AddrPort) { from = a })
		if err != nil {
			t.Fatal(err)
		}
		if local := c.LocalAddr().(*net.TCPAddr).AddrPort(); from != netip.AddrPortFrom(local.Addr().Unmap(), local.Port()) {
			t.Errorf("the connection comes from %s, told was %s", local, from)
		}
		if _, err := c.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		c.CloseWrite()
		if got, err := io.ReadAll(c); err != nil || string(got) != "hello" {
			t.Errorf("%s: %q, %v", at, got, err)
		}
		c.Close()
		from = netip.AddrPort{}
		if _, err := b.Dial(context.Background(), to, func(a netip.AddrPort) { from = a }); !errors.Is(err, unix.ECONNREFUSED) || !strings.Contains(err.Error(), at) {
			t.Errorf("another namespace: %v", err)
		}
		l.Close()
	}
	if now, err := os.Readlink("/proc/thread-self/ns/net"); err != nil || now != own {
		t.Errorf("this thread is in %s, and was in %s: %v", now, own, err)
	}
}

// TestDialEnds: a connection that nobody answers is waited for until the context ends.
func TestDialEnds(t *testing.T) {
	n := namespace(t, holder(t))
	drop := exec.Command("nsenter", "--net="+n.Path(), "sh", "-c",
		"ip link add veth7 type veth peer name veth8 && ip link set veth8 up && ip addr add 192.0.2.1/24 dev veth7 && ip link set veth7 up && ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev veth7")
	if out, err := drop.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	var from netip.AddrPort
	if c, err := n.Dial(ctx, netip.MustParseAddrPort("192.0.2.2:80"), func(a netip.AddrPort) { from = a }); !errors.Is(err, context.DeadlineExceeded) || from.Addr().String() != "192.0.2.1" || from.Port() == 0 {
		t.Errorf("%v, %v from %s", c, err, from)
	}
}

// TestDatagram: ends that have sent to each other hear each other, and nobody else, in both families; a packet says when it has
// arrived, however late it is taken; that nobody is there any more is told.
func TestDatagram(t *testing.T) {
	n := namespace(t, holder(t))
	for _, at := range []string{"127.0.0.1", "::1"} {
		var all [3]*Datagram
		for i := range all {
			d, err := n.Datagram(netip.MustParseAddr(at))
			if err != nil {
				t.Fatal(err)
			}
			all[i] = d
		}
		a, b, stranger := all[0], all[1], all[2]
		defer a.Close()
		defer stranger.Close()
		buffer := make([]byte, 16)
		if _, _, _, err := b.Take(buffer); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("%s: nothing was sent: %v", at, err)
		}
		if err := b.Send([]byte("hello"), a.Addr()); err != nil {
			t.Fatal(err)
		}
		if err := stranger.Send([]byte("x"), b.Addr()); err != nil {
			t.Fatal(err)
		}
		// Loopback hands a packet over while it is sent. The kernel begins to note times soon after the first socket asks for them.
		poll.For(t, time.Minute, time.Millisecond, "packets say when they have arrived", func() bool {
			before := time.Now()
			if err := a.Send([]byte("hello"), b.Addr()); err != nil {
				t.Fatal(err)
			}
			after := time.Now()
			time.Sleep(50 * time.Millisecond)
			size, from, came, err := b.Take(buffer)
			for errors.Is(err, unix.EAGAIN) && time.Since(after) < time.Minute {
				size, from, came, err = b.Take(buffer)
			}
			if err != nil || string(buffer[:size]) != "hello" || from != a.Addr() {
				t.Fatalf("%s: %q from %s, %v", at, buffer[:size], from, err)
			}
			return !came.Before(before.Add(-time.Millisecond)) && !came.After(after.Add(time.Millisecond))
		})
		if _, _, _, err := b.Take(buffer); !errors.Is(err, unix.EAGAIN) {
			t.Errorf("%s: a packet is there twice: %v", at, err)
		}
		poll.For(t, time.Minute, time.Millisecond, "the other end's packet comes", func() bool {
			_, from, _, err := a.Take(buffer)
			return err == nil && from == b.Addr()
		})
		b.Close()
		if err := a.Send([]byte("hello"), b.Addr()); err != nil {
			t.Fatal(err)
		}
		poll.For(t, time.Minute, time.Millisecond, "it is told that nobody is there", func() bool {
			_, _, _, err := a.Take(buffer)
			return errors.Is(err, unix.ECONNREFUSED)
		})
	}
}

// TestDrop: a namespace that its holder lets go of ends, with what is in it; others stay, and new ones come.
func TestDrop(t *testing.T) {
	h := holder(t)
	gone, stays := namespace(t, h), namespace(t, h)
	if out, err := exec.Command("nsenter", "--net="+gone.Path(), "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", stays.Path()).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := Drop(gone); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(gone.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its name is left: %v", err)
	}
	poll.For(t, time.Minute, time.Millisecond, "the namespace ended", func() bool {
		out, err := exec.Command("nsenter", "--net="+stays.Path(), "ip", "link").CombinedOutput()
		if err != nil {
			t.Fatalf("the other one: %v: %s", err, out)
		}
		return !strings.Contains(string(out), "eth0")
	})
	if err := Drop(gone, stays); !errors.Is(err, unix.ENOENT) {
		t.Errorf("one that is gone: %v", err)
	}
	if err := stays.Do(func() error { return nil }); err == nil {
		t.Error("one that was let go of with it can be entered")
	}
	if err := namespace(t, h).Do(func() error { return nil }); err != nil {
		t.Error(err)
	}
}
