package fast_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/heddle-network/heddle/test/soak"
)

// TestUpgraded: streams go on while both hosts' agents are followed by others, twenty
// times, whose programs are others; every fifth version has its maps laid out in
// another way, too.
func TestUpgraded(t *testing.T) {
	soak.Turn(t, 1)
	s := newScene(t)
	var streams []*stream
	for _, to := range append(s.b.Addrs(), s.far.Addrs()...) {
		streams = append(streams, newStream(t, s.a.Netns, netip.AddrPortFrom(to, 7000)))
	}
	seen := [2][]ebpf.ProgramID{s.attached(t, 0), s.attached(t, 1)}
	for i := range 20 {
		before := s.carried(t)
		for host := range s.Hosts {
			s.Upgrade(t, host, version(i+1))
			now := s.attached(t, host)
			for _, id := range now {
				if slices.Contains(seen[host], id) {
					t.Errorf("upgrade %d: program %d of an older version is at work on host %d", i+1, id, host+1)
				}
			}
			seen[host] = append(seen[host], now...)
		}
		if anew := (i+1)%5 <= 1; !anew && s.carried(t)["sent"] < before["sent"] {
			t.Errorf("upgrade %d: the counters began anew: %v, before %v", i+1, s.carried(t), before)
		}
		at := s.carried(t)
		for _, st := range streams {
			st.goesOn(t)
		}
		s.used(t, ways[0], []string{"sent", "received", "local"}, at)
	}
	for _, st := range streams {
		st.end(t)
	}
}

// version makes other programs of those that there are: with one instruction more,
// which sets what is not used. The maps of every fifth version are of the same size,
// but what is in them means something else.
func version(i int) func(*ebpf.CollectionSpec) {
	return func(c *ebpf.CollectionSpec) {
		for _, p := range c.Programs {
			first := p.Instructions[0]
			p.Instructions[0] = first.WithMetadata(asm.Metadata{})
			p.Instructions = append(asm.Instructions{asm.Mov.Imm(asm.R0, int32(i)).WithMetadata(first.Metadata)}, p.Instructions...)
		}
		if i%5 != 0 {
			return
		}
		peer := *c.Maps["peers"].Value.(*btf.Struct)
		peer.Members = slices.Clone(peer.Members)
		peer.Members[0].Name, peer.Members[1].Name = peer.Members[1].Name, peer.Members[0].Name
		c.Maps["peers"].Value = &peer
	}
}

// attached are the fast path's programs on a host: on its wire and on its ports.
func (s *scene) attached(t *testing.T, host int) []ebpf.ProgramID {
	t.Helper()
	all := s.Programs(t, host)
	if want := [2]int{4, 3}[host]; len(all) != want {
		t.Fatalf("host %d has %d programs at work, want %d", host+1, len(all), want)
	}
	return all
}
