package fast_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/world"
)

// TestOneHost: on one host, too, nobody can tell whether the fast path is on.
func TestOneHost(t *testing.T) {
	for _, mode := range []string{"routed", "overlay", "bridge"} {
		for _, option := range []string{"fast-path=true", "fast-path=false"} {
			t.Run(mode+" "+option, func(t *testing.T) { oneHost(t, mode, option) })
		}
	}
}

func oneHost(t *testing.T, mode, option string) {
	w := world.New(t)
	n := w.Network(t, "net", mode, world.With(option))
	w.Network(t, "other", mode, world.With(option))
	w.Network(t, "friend", mode, world.With(option))
	if err := w.Allow("net", "friend"); err != nil {
		t.Fatal(err)
	}
	if mode == "routed" {
		w.RouteToPods(t, n) // it is not masqueraded
	}
	a, b := w.Pod(t, "a", "net"), w.Pod(t, "b", "net", world.Publish("8080:7000/tcp"), world.Publish("8080:7000/udp"))
	stranger, friend := w.Pod(t, "stranger", "other"), w.Pod(t, "friend", "friend")
	for _, p := range []*world.Pod{a, b, stranger, friend} {
		p.Serve(t, 7000, p.Addrs()...)
	}
	for _, to := range b.Addrs() {
		if err := echo(a.Netns, netip.AddrPortFrom(to, 7000), bulk()); err != nil {
			t.Error(err)
		}
		if err := a.Ping(to, "-s", "8000"); err != nil {
			t.Error(err)
		}
		err := a.Ping(to, "-t", "1")
		if routed := err != nil && strings.Contains(err.Error(), "exceeded"); routed != (mode != "bridge") {
			t.Errorf("a ping with TTL 1: %v", err)
		}
	}
	b.Gets(t, "a", 7000, a.Addrs()...)
	a.Gets(t, "friend", 7000, friend.Addrs()...)
	a.Silent(t, stranger.Addrs()...)
	for _, from := range []world.Netns{w.Host, w.Outside, a.Netns, b.Netns, stranger.Netns} {
		from.Gets(t, "b", 8080, world.Host4, world.Host6)
	}
	a.Gets(t, "b", 8080, n.Gateways...)
	a.Reaches(t, append(n.Gateways, world.Host4, world.Host6, world.Outside4, world.Outside6)...)
	spoofedOnHost(t, w, a, b)
	e, err := w.Endpoint(a.Endpoint.ID)
	if err != nil {
		t.Fatal(err)
	}
	if on := e.Fast != nil && e.Fast.Packets["local"] > 10; on != (option == "fast-path=true") {
		t.Errorf("%s: counted %+v", option, e.Fast)
	}
}

// spoofedOnHost has a say that it is b.
func spoofedOnHost(t *testing.T, w *world.World, a, b *world.Pod) {
	t.Helper()
	for i := range a.Addrs() {
		before := drops(w)
		to := a.Endpoint.ID.PortMAC()
		capture := w.Outside.Capture(t, "eth0")
		d := datagram{src: b.Addrs()[i], dst: []netip.Addr{world.Outside4, world.Outside6}[i], ttl: 64, mark: "forged-mark"}
		a.Send(t, "eth0", d.frame(t, a.Endpoint.MAC, to))
		world.Soon(t, "a spoofed packet is counted", func() error {
			if drops(w) == before {
				return errors.New("it is not")
			}
			return nil
		})
		if n := world.Count(capture.Stop(), world.Contains("forged-mark")); n > 0 || drops(w) != before+1 {
			t.Errorf("a spoofed packet: %d came, %d counted before, %d after", n, before, drops(w))
		}
	}
}

func drops(w *world.World) uint64 { return w.Status().Drops["spoofed-ip"] }

// TestBorrowed: a container without the fast path, with an address out of another
// host's block, is found by those of its own host that have it.
func TestBorrowed(t *testing.T) {
	s := newScene(t)
	borrower := s.PodOnStack(t, "borrower", 0, s.net, at(1, 2))
	borrower.Serve(t, 7000, borrower.Addrs()...)
	for _, w := range ways[:2] {
		t.Run(w.name, func(t *testing.T) {
			defer s.set(t, w)()
			world.Within(t, 30*world.Patience, "the way to the second host is known", func() error {
				before := s.first.Carried(t).Packets["sent"]
				s.a.Reaches(t, s.far.Addrs()...)
				if after := s.first.Carried(t).Packets["sent"]; w.first && after < before+2 {
					return errors.New("it is not")
				}
				return nil
			})
			s.a.Gets(t, "borrower", 7000, borrower.Addrs()...)
			borrower.Gets(t, "a", 7000, s.a.Addrs()...)
		})
	}
}
