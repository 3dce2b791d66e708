package link

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/test/namespace"
)

// inside runs a command in a namespace.
func inside(t *testing.T, n socket.Namespace, args ...string) string {
	t.Helper()
	out, err := exec.Command("nsenter", append([]string{"--net=" + n.Path()}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}

// pair is a user, of whom a link may be put, and who answers on the same wire, in both families.
func pair(t *testing.T) (user, far socket.Namespace) {
	t.Helper()
	return pairOf(t, namespace.Holder(t), namespace.Holder(t))
}

// pairOf is a pair whose namespaces have holders of their own.
func pairOf(t *testing.T, holders ...*socket.Holder) (user, far socket.Namespace) {
	t.Helper()
	var both [2]socket.Namespace
	for i, h := range holders {
		both[i] = namespace.In(t, h)
	}
	user, far = both[0], both[1]
	inside(t, user, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", far.Path())
	for i, n := range both {
		inside(t, n, "ip", "link", "set", "eth0", "address", fmt.Sprintf("02:00:00:00:00:0%d", i+1), "up")
		inside(t, n, "ip", "address", "add", fmt.Sprintf("10.9.0.%d/24", i+1), "dev", "eth0")
		inside(t, n, "ip", "address", "add", fmt.Sprintf("fd09::%d/64", i+1), "dev", "eth0", "nodad")
		for _, other := range []string{"10.9.0.%d", "fd09::%d"} { // so that no question for a neighbour is lost
			inside(t, n, "ip", "neighbour", "add", fmt.Sprintf(other, 2-i), "lladdr", fmt.Sprintf("02:00:00:00:00:0%d", 2-i), "dev", "eth0", "nud", "permanent")
		}
	}
	return user, far
}

var far = []netip.AddrPort{netip.MustParseAddrPort("10.9.0.2:7600"), netip.MustParseAddrPort("[fd09::2]:7600")}

// put puts a link until the test ends.
func put(t *testing.T, n socket.Namespace, as scenario.Link) *Links {
	t.Helper()
	l := &Links{}
	if err := l.Put(n, "eth0", as, 7, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// echo answers each connection with what it sends.
func echo(t *testing.T, n socket.Namespace, at netip.AddrPort) {
	t.Helper()
	l, err := n.Listen(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(c, c)
				c.Close()
			}()
		}
	}()
}

func dial(t *testing.T, n socket.Namespace, to netip.AddrPort) net.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := n.Dial(ctx, to, func(netip.AddrPort) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestDelay: a round trip takes the delay twice, whoever begins, in both families.
func TestDelay(t *testing.T) {
	user, other := pair(t)
	put(t, user, scenario.Link{Impairment: impair.Impairment{Delay: 50 * time.Millisecond}})
	for _, at := range far {
		echo(t, other, at)
		begun := time.Now()
		c := dial(t, user, at)
		if took := time.Since(begun); took < 100*time.Millisecond {
			t.Errorf("%s: connected in %s", at, took)
		}
		begun = time.Now()
		c.Write([]byte("hello"))
		if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took < 100*time.Millisecond {
			t.Errorf("%s: answered in %s", at, took)
		}
	}
}

// TestWhole: what passes a link is whole, both ways, in segments as large as TCP makes them.
func TestWhole(t *testing.T) {
	user, other := pair(t)
	put(t, user, scenario.Link{Impairment: impair.Impairment{Delay: time.Millisecond, Jitter: time.Millisecond}})
	sent := make([]byte, 20<<20)
	rand.NewChaCha8([32]byte{}).Read(sent)
	for _, at := range far {
		echo(t, other, at)
		c := dial(t, user, at)
		go c.Write(sent)
		begun := time.Now()
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%s: what comes back is not what was sent: %v", at, err)
		}
		t.Logf("%s: %.0f Mbit/s each way", at, float64(len(sent)*8)/time.Since(begun).Seconds()/1e6)
	}
}
