package fast_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestBigSegments: between containers of one host, IPv4 segments beyond 64 KB go in one
// piece, with all that is in them, by the fast path and by the stack, where the kernel
// has them (since Linux 6.3); to a container that was set to less, and onto the wire,
// go none.
func TestBigSegments(t *testing.T) {
	soak.Turn(t, 0)
	for _, mode := range []string{"routed", "bridge"} {
		for _, fast := range []string{"fast-path=true", "fast-path=false"} {
			t.Run(mode+" "+fast, func(t *testing.T) { bigSegments(t, mode, fast) })
		}
	}
}

func bigSegments(t *testing.T, mode, fast string) {
	w := world.New(t)
	n := w.Network(t, "net", mode, world.With("big-tcp=true"), world.With(fast))
	small := w.Network(t, "small", mode, world.With(fast))
	if mode == "routed" {
		w.RouteToPods(t, n)
		w.RouteToPods(t, small)
	}
	if err := w.Allow("net", "small"); err != nil {
		t.Fatal(err)
	}
	a, b, old := w.Pod(t, "a", "net"), w.Pod(t, "b", "net"), w.Pod(t, "old", "small")
	// TCP makes smaller segments where round trips take long (tcp_tso_autosize)
	a.Sh(t, "sysctl -qw net.ipv4.tcp_tso_rtt_log=20")
	outside := []netip.Addr{world.Outside4, world.Outside6}
	for i := range outside {
		for _, p := range []*world.Pod{a, b, old} {
			p.Serve(t, 7000, p.Addrs()[i])
		}
		w.Outside.Serve(t, 7000, outside[i])
		for _, way := range []struct {
			from, to world.Netns
			addr     netip.Addr
			big      bool
		}{
			{a.Netns, b.Netns, b.Addrs()[i], i == 0 && bigTCP(t)},
			{a.Netns, old.Netns, old.Addrs()[i], false},
			{old.Netns, a.Netns, a.Addrs()[i], false},
			{a.Netns, w.Outside, outside[i], false},
		} {
			got := longest(t, way.from, way.to, way.addr)
			for try := 1; try < 20 && way.big && got <= fullSegment; try++ { // where the processor is busy, a window may stay small for a whole stream
				got = longest(t, way.from, way.to, way.addr)
			}
			if got > fullSegment != way.big {
				t.Errorf("from %s to %s (%s): the longest segment has %d bytes, want one beyond 64 KB: %t", way.from.Name, way.to.Name, way.addr, got, way.big)
			}
		}
	}
}

// fullSegment is the longest frame without BIG TCP.
const fullSegment = 65535 + 14

// bigTCP reports a kernel with big segments of IPv4 (since Linux 6.3).
func bigTCP(t *testing.T) bool {
	t.Helper()
	var major, minor int
	if _, err := fmt.Sscanf(cell.Sh(t, "cat /proc/sys/kernel/osrelease"), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major > 6 || major == 6 && minor >= 3
}

// longest sends much from one namespace to another, and returns the length of the longest
// frame that came there.
func longest(t *testing.T, from, to world.Netns, addr netip.Addr) (most int) {
	t.Helper()
	capture := to.Capture(t, "eth0")
	if err := echo(from, netip.AddrPortFrom(addr, 7000), 5*bulk()); err != nil {
		t.Error(err)
	}
	for _, f := range capture.Stop() {
		if !f.Out {
			most = max(most, len(f.Data))
		}
	}
	return most
}
