package fast_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/world"
)

// TestSameBits: what goes onto the wire, and what comes out of a tunnel, is bit for
// bit what the kernel's VXLAN device and its forwarding make of the same packet, but
// for the id and the source port of the outer header; with all pairs of ECN marks.
func TestSameBits(t *testing.T) {
	soak.Turn(t, 0)
	for _, f := range heddle.Families() {
		t.Run("over "+f.String(), func(t *testing.T) { sameBits(t, newSceneOver(t, f)) })
	}
}

func sameBits(t *testing.T, s *scene) {
	var seen [2][]string
	for i, w := range ways[:2] {
		s.set(t, w)()
		before := s.carried(t)
		for family := range s.a.Addrs() {
			for inner := range byte(4) {
				seen[i] = append(seen[i], s.sent(t, family, inner))
				for outer := range byte(4) {
					seen[i] = append(seen[i], s.received(t, family, outer, inner))
				}
			}
		}
		after := s.carried(t)
		if w.first != (after["sent"]-before["sent"] >= 8) || w.first != (after["received"]-before["received"] >= 8) {
			t.Errorf("fast path %s: before %v, after %v", w.name, before, after)
		}
	}
	for i := range seen[0] {
		if seen[0][i] != seen[1][i] {
			t.Errorf("on the fast path\n%s, on the stack\n%s", seen[0][i], seen[1][i])
		}
	}
}

// sent is what the first host makes of a packet to the second.
func (s *scene) sent(t *testing.T, family int, ecn byte) string {
	t.Helper()
	d := datagram{src: s.a.Addrs()[family], dst: s.far.Addrs()[family], ttl: 9, tos: 0x28 | ecn, mark: "golden-mark"}
	frame := d.fromPod(t, s.a)
	s.a.Reaches(t, s.far.Addrs()...) // so that the way is known
	got := s.one(t, "sent", s.LAN, "port0", true, func() { s.a.Send(t, "eth0", frame) })
	if len(got) == 0 {
		t.Errorf("a packet with ECN %d was not sent", ecn)
		return ""
	}
	got = bytes.Clone(got)
	varying := []int{18, 24, 34} // id, checksum, source port
	if s.first.Outer().Is6() {
		varying = []int{54} // source port
	}
	for _, i := range varying {
		got[i], got[i+1] = 0, 0
	}
	return fmt.Sprintf("sent, family %d, ECN %d: % x", family, ecn, got)
}

// received is what comes to a container of a packet from the second host; what is
// dropped is nothing.
func (s *scene) received(t *testing.T, family int, outer, inner byte) string {
	t.Helper()
	d := datagram{src: s.far.Addrs()[family], dst: s.a.Addrs()[family], ttl: 9, tos: 0x28 | inner, mark: "golden-mark"}
	frame := s.tunnelled(t, tunnel{outer: s.second.Outer(), vni: span.VNI, tos: outer}, d)
	comes := outer != 3 || inner != 0 // RFC 6040, section 4.2
	got := s.one(t, "received", s.a.Netns, "eth0", comes, func() { s.LAN.Send(t, "br0", frame) })
	return fmt.Sprintf("received, family %d, outer ECN %d, inner %d: % x", family, outer, inner, got)
}

// one is the only frame with a mark that comes by a link; it is waited for if it comes.
func (s *scene) one(t *testing.T, what string, p world.Netns, link string, comes bool, send func()) []byte {
	t.Helper()
	capture := p.Capture(t, link)
	send()
	marked := func(f world.Frame) bool { return !f.Out && bytes.Contains(f.Data, []byte("golden-mark")) }
	if comes {
		capture.Await(1, marked)
	}
	var found [][]byte
	for _, f := range capture.Stop() {
		if marked(f) {
			found = append(found, f.Data)
		}
	}
	if len(found) > 1 {
		t.Errorf("%s: %d frames came", what, len(found))
	}
	if len(found) == 0 {
		return nil
	}
	return found[0]
}
