package fast_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// behaviours are what containers and their peers may see of the way that packets
// take; paths are those that must have been used, if the path is on.
var behaviours = []struct {
	name  string
	run   func(s *scene, t *testing.T)
	paths []string
}{
	{"bulk across hosts", func(s *scene, t *testing.T) { s.bulk(t, s.a, s.far) }, []string{"sent", "received"}},
	{"bulk on one host", func(s *scene, t *testing.T) { s.bulk(t, s.a, s.b) }, []string{"local"}},
	{"TCP and UDP", (*scene).asks, []string{"sent", "received", "local"}},
	{"large pings", func(s *scene, t *testing.T) { s.pings(t, "-s", "8000") }, nil},
	{"pings that fill the MTU", (*scene).fills, []string{"sent", "received", "local"}},
	{"time to live", (*scene).ages, nil},
	{"hops", (*scene).hops, []string{"sent", "received", "local"}},
	{"networks apart", (*scene).apart, nil},
	{"networks joined", func(s *scene, t *testing.T) { s.a.Gets(t, "friend", 7000, s.friend.Addrs()...) }, nil},
	{"published ports", (*scene).published, nil},
	{"gateways and hosts", (*scene).gateways, nil},
	{"spoofed sources", (*scene).spoofed, nil},
	{"forged tunnels", (*scene).forged, nil},
}

// TestAcross: nobody can tell whether the fast path is on, whatever the tunnels are
// made over.
func TestAcross(t *testing.T) {
	for _, f := range heddle.Families() {
		t.Run("over "+f.String(), func(t *testing.T) { across(t, newSceneOver(t, f)) })
	}
}

func across(t *testing.T, s *scene) {
	for _, w := range ways {
		if vm.InGuest() && w.name != "on" && w.name != "off" {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			end := s.set(t, w)
			defer end()
			for _, b := range behaviours {
				t.Run(b.name, func(t *testing.T) {
					before := s.carried(t)
					b.run(s, t)
					s.used(t, w, b.paths, before)
				})
			}
		})
	}
}

// used checks that packets took the fast path where it is on, and none where it is
// off.
func (s *scene) used(t *testing.T, w way, paths []string, before map[string]uint64) {
	t.Helper()
	after := s.carried(t)
	for path, n := range after {
		if !w.first && !w.second && n != before[path] {
			t.Errorf("%d packets were carried (%s) with the path off", n-before[path], path)
		}
	}
	for _, path := range paths {
		if w.name == "on" && after[path] == before[path] {
			t.Errorf("nothing was carried (%s) with the path on", path)
		}
	}
}

func (s *scene) bulk(t *testing.T, from, to *span.Pod) {
	for _, a := range to.Addrs() {
		if err := echo(from.Netns, netip.AddrPortFrom(a, 7000), bulk()); err != nil {
			t.Error(err)
		}
	}
}

func (s *scene) asks(t *testing.T) {
	for _, from := range []*span.Pod{s.a, s.b, s.far} {
		for _, to := range []*span.Pod{s.a, s.b, s.far} {
			from.Gets(t, to.Name, 7000, to.Addrs()...)
		}
	}
}

// pings go from a to all, with flags of ping(8).
func (s *scene) pings(t *testing.T, flags ...string) {
	for _, to := range append(s.b.Addrs(), s.far.Addrs()...) {
		if err := s.a.Ping(to, flags...); err != nil {
			t.Error(err)
		}
	}
}

func (s *scene) fills(t *testing.T) {
	for _, to := range append(s.b.Addrs(), s.far.Addrs()...) {
		size := s.a.Endpoint.MTU - map[bool]int{true: 28, false: 48}[to.Is4()]
		if err := s.a.Ping(to, "-M", "do", "-s", fmt.Sprint(size)); err != nil {
			t.Error(err)
		}
	}
}

// refused pings, and must be told why nothing comes back.
func refused(t *testing.T, from *span.Pod, to netip.Addr, why string, flags ...string) {
	t.Helper()
	err := from.Ping(to, flags...)
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("ping %v from %s to %s: %v, want %q", flags, from.Name, to, err, why)
	}
}

// ages: one host between containers of one host, two across hosts.
func (s *scene) ages(t *testing.T) {
	for _, to := range s.b.Addrs() {
		refused(t, s.a, to, "exceeded", "-t", "1")
	}
	for _, to := range s.far.Addrs() {
		refused(t, s.a, to, "exceeded", "-t", "1")
		refused(t, s.a, to, "exceeded", "-t", "2")
	}
}

func (s *scene) hops(t *testing.T) {
	for to, ttl := range map[*span.Pod]int{s.b: 63, s.far: 62} {
		for _, a := range to.Addrs() {
			out := s.a.Sh(t, "ping -n -c1 -W%.0f -t %d %s", world.Patience.Seconds(), 64-ttl+1, a)
			if !strings.Contains(out, fmt.Sprintf("ttl=%d ", ttl)) {
				t.Errorf("the answer has not the TTL %d:\n%s", ttl, out)
			}
		}
	}
}

func (s *scene) apart(t *testing.T) {
	s.a.Silent(t, s.stranger.Addrs()...)
	s.far.Silent(t, s.stranger.Addrs()...)
	s.stranger.GetsNothing(t, 7000, append(s.a.Addrs(), s.far.Addrs()...)...)
}

func (s *scene) published(t *testing.T) {
	for _, from := range []world.Netns{s.LAN, s.first.Netns, s.second.Netns, s.a.Netns, s.b.Netns, s.far.Netns, s.stranger.Netns} {
		from.Gets(t, "b", 8080, s.first.Underlays()...)
	}
	s.a.Gets(t, "b", 8080, s.net.Gateways...)
	for _, a := range s.first.Underlays() {
		for _, from := range []*span.Pod{s.a, s.far} {
			if err := echo(from.Netns, netip.AddrPortFrom(a, 8080), bulk()/10); err != nil {
				t.Error(err)
			}
		}
	}
}

func (s *scene) gateways(t *testing.T) {
	for _, p := range []*span.Pod{s.a, s.far} {
		p.Reaches(t, append(s.net.Gateways, span.LAN4, span.LAN6)...)
		p.Reaches(t, append(s.first.Underlays(), s.second.Underlays()...)...)
	}
	s.first.Gets(t, "far", 7000, s.far.Addrs()...)
	s.second.Gets(t, "a", 7000, s.a.Addrs()...)
}
