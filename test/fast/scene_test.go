package fast_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/world"
)

// scene is two hosts: a and b on the first, far on the second, all of one network;
// friend of another one that is allowed, stranger of one that is not.
type scene struct {
	*span.Cluster
	first, second               *span.Host
	net                         heddle.Network
	a, b, far, friend, stranger *span.Pod
}

func at(host, i int) func(netip.Prefix) netip.Addr {
	return func(s netip.Prefix) netip.Addr { return span.Addr(s, host, i) }
}

func newScene(t *testing.T) *scene { return newSceneOver(t, heddle.IPv4) }

// newSceneOver has tunnels over a family.
func newSceneOver(t *testing.T, f heddle.Family) *scene {
	t.Helper()
	cell.Need(t)
	s := &scene{Cluster: span.New(t, f)}
	s.first, s.second = s.Hosts[0], s.Hosts[1]
	s.net = s.Network(t, 1, nil)
	other, third := s.Network(t, 2, nil), s.Network(t, 3, nil)
	s.Allow(t, s.net, other)
	s.a = s.Pod(t, "a", 0, s.net, at(0, 0))
	s.b = s.Pod(t, "b", 0, s.net, at(0, 1), world.Mapping("8080:7000/tcp"), world.Mapping("8080:7000/udp"))
	s.far = s.Pod(t, "far", 1, s.net, at(1, 0))
	s.friend, s.stranger = s.Pod(t, "friend", 1, other, at(1, 0)), s.Pod(t, "stranger", 0, third, at(0, 0))
	for _, p := range []*span.Pod{s.a, s.b, s.far, s.friend, s.stranger} {
		p.Serve(t, 7000, p.Addrs()...)
	}
	s.a.Reaches(t, append(s.far.Addrs(), s.b.Addrs()...)...)
	return s
}

// way is how the fast path is while a behaviour is looked at.
type way struct {
	name          string
	first, second bool
	flip          bool
}

var ways = []way{{"on", true, true, false}, {"off", false, false, false}, {"first only", true, false, false}, {"second only", false, true, false}, {"changing", true, true, true}}

// set brings the hosts' fast paths in that state; the function that it returns ends
// the changing.
func (s *scene) set(t *testing.T, w way) (end func()) {
	t.Helper()
	s.first.FastPath(t, w.first)
	s.second.FastPath(t, w.second)
	if !w.flip {
		return func() {}
	}
	ending, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for on := false; ; on = !on {
			select {
			case <-ending:
				return
			case <-time.After(30 * time.Millisecond):
			}
			s.first.FastPath(t, on)
			s.second.FastPath(t, !on)
		}
	}()
	return func() {
		close(ending)
		<-done
	}
}

// carried sums up by path what both hosts have carried.
func (s *scene) carried(t *testing.T) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	for _, h := range s.Hosts {
		for path, n := range h.Carried(t).Packets {
			all[path] += n
		}
	}
	return all
}
