package fast_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// TestNarrowPath: where the way to the other host carries less than the containers'
// MTU, a packet that is too large comes back as an ICMP error that tells the size, and
// streams go through.
func TestNarrowPath(t *testing.T) {
	const path, room = 1420, 1370 // less 50 bytes of VXLAN
	for _, w := range ways[:2] {
		t.Run(w.name, func(t *testing.T) {
			s := newScene(t)
			s.NarrowPath(t, path)
			s.set(t, w)()
			before := s.carried(t)
			for _, to := range s.far.Addrs() {
				headers := map[bool]int{true: 28, false: 48}[to.Is4()]
				err := s.a.Ping(to, "-M", "do", "-s", fmt.Sprint(room-headers+1))
				if err == nil || !strings.Contains(err.Error(), fmt.Sprint(room)) {
					t.Errorf("a ping of %d bytes: %v, want to be told %d", room+1, err, room)
				}
				if err := s.a.Ping(to, "-M", "do", "-s", fmt.Sprint(room-headers)); err != nil {
					t.Error(err)
				}
			}
			s.bulk(t, s.a, s.far)
			s.used(t, w, []string{"sent", "received"}, before)
		})
	}
}

// TestUnmasked: a port that is published by a host of a network that is not
// masqueraded answers the containers of another host, which call with their own
// addresses: at the host's address of either IP version, whichever tunnels use.
func TestUnmasked(t *testing.T) {
	s := newScene(t)
	plain := s.Network(t, 4, unmasked)
	b := s.Pod(t, "plain", 0, plain, at(0, 1), world.Mapping("8090:7000/tcp"), world.Mapping("8090:7000/udp"))
	far := s.Pod(t, "farplain", 1, plain, at(1, 0))
	b.Serve(t, 7000, b.Addrs()...)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			defer s.set(t, w)()
			far.Reaches(t, b.Addrs()...)
			far.Gets(t, "plain", 8090, s.first.Underlays()...)
			b.Gets(t, "plain", 8090, s.first.Underlays()...)
		})
	}
}

func unmasked(n *heddle.Network) { n.Options = map[string]string{"masquerade": "false"} }
