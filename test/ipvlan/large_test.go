package ipvlan_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/world"
)

// large is more than fits any queue on the way.
const large = 2 << 20

// echoes sends a large text and compares what comes back.
func echoes(from world.Netns, to netip.AddrPort) error {
	c, err := from.Dial("tcp", netip.AddrPort{}, to, 5*world.Patience)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(world.Patience * 6))
	sent := make([]byte, large)
	rand.Read(sent)
	go c.Write(sent)
	line := make([]byte, 1)
	for line[0] != '\n' {
		if _, err := c.Read(line); err != nil {
			return fmt.Errorf("greeting of %s: %w", to, err)
		}
	}
	got := make([]byte, large)
	if _, err := io.ReadFull(c, got); err != nil {
		return fmt.Errorf("large transfer from %s to %s: %w", from.Name, to, err)
	}
	if !bytes.Equal(got, sent) {
		return fmt.Errorf("large transfer from %s to %s came back another", from.Name, to)
	}
	return nil
}

// largest is a frame of full size, with Ethernet's header.
const largest = 1500 + 14

// transfers: large texts go between containers unchanged, on one NIC, to another of the
// node and to the other node. Offloads are on: segments that are larger than any frame
// of a cable leave and arrive at both ends.
func (s *scene) transfers(t *testing.T) {
	t.Helper()
	from := s.pods["a1"]
	for _, name := range []string{"a2", "b1", "c1"} {
		to := s.pods[name]
		for _, a := range to.addrs {
			captures := map[*pod]*world.Capture{from: from.Capture(t, "eth0"), to: to.Capture(t, "eth0")}
			if err := echoes(from.Netns, netip.AddrPortFrom(a, 8080)); err != nil {
				t.Error(err)
			}
			for p, c := range captures {
				all := c.Stop()
				for _, out := range []bool{true, false} {
					if world.Count(all, func(f world.Frame) bool { return f.Out == out && len(f.Data) > largest }) == 0 {
						t.Errorf("from a1 to %s at %s: of %d frames on %s, none is larger than a cable's (sent by itself: %v)", name, a, len(all), p.Name, out)
					}
				}
			}
		}
	}
}
