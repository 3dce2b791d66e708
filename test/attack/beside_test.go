package attack_test

import (
	"errors"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/ipvlan"
	"github.com/heddle-network/heddle/mode/macvlan"
	"github.com/heddle-network/heddle/test/span"
)

// besideAttacks come from a container on the NIC that the tunnels between hosts use. It
// writes VXLAN with raw sockets: as its host, to a peer, or as a peer, to its host.
func besideAttacks() []ownAttack {
	asHost := func(s *spanScene, own heddle.MAC) (frame []byte, to *span.Pod) {
		e := ether(own, s.macSecond, kindOf(s.first.Outer()))
		return s.outer(e, s.first.Outer(), s.second.Outer(), vxlan(span.VNI, s.back())), s.remote
	}
	asPeer := func(s *spanScene, own heddle.MAC) (frame []byte, to *span.Pod) {
		e := ether(own, s.mac, kindOf(s.first.Outer()))
		return s.outer(e, s.second.Outer(), s.first.Outer(), vxlan(span.VNI, s.frame(s.of(s.remote), s.of(s.victim)))), s.victim
	}
	all := []ownAttack{
		{name: "VXLAN as its host, from a container on the underlay's NIC", modes: "macvlan ipvlan", limit: firewall.LimitUnderlay,
			mount: beside{write: asHost, admitted: true}.mount},
		{name: "VXLAN as a peer to its host, from a container on the underlay's NIC", modes: isIPvlan, mount: beside{write: asPeer, unguard: "nft flush set inet heddle beside"}.mount},
	}
	for _, sub := range []string{"l3", "l3s"} {
		all = append(all, ownAttack{name: "VXLAN as its host, from a container on the underlay's NIC in sub-mode " + sub, modes: isIPvlan,
			mount: beside{sub: sub, write: asHost, unguard: "nft flush chain inet heddle tunnel-leaving"}.mount})
	}
	for i := range all {
		all[i].class = "underlay"
	}
	return all
}

// beside is an attack from a container on the underlay's NIC.
type beside struct {
	// sub is the ipvlan sub-mode, "" the mode's own.
	sub string
	// write makes the frame, and names the container that is to get it; own is the MAC
	// address of the attacker's link.
	write func(s *spanScene, own heddle.MAC) (frame []byte, to *span.Pod)
	// unguard takes away what prevents it, on the attacker's host; admitted is one that
	// nothing prevents.
	unguard  string
	admitted bool
}

// mount carries it out over underlays of both families, with the fast path and without.
// One that should succeed does so in all four ways, another one in any.
func (b beside) mount(t *testing.T, mode string, open bool) bool {
	if !hasKind(mode) {
		t.Skipf("no %s here", mode)
	}
	came, ways := 0, 0
	for _, f := range heddle.Families() {
		t.Run("over "+f.String(), func(t *testing.T) {
			s, intruder := b.scene(t, mode, f)
			s.wanted = open || b.admitted
			if open {
				s.first.Sh(t, "%s", b.unguard)
			}
			for _, fast := range []bool{true, false} {
				for _, h := range s.Hosts {
					h.FastPath(t, fast)
				}
				frame, to := b.write(s, hardware(t, intruder.Netns, "eth0"))
				seen := s.arrives(t, to.Netns, "eth0")
				// the host that routes for it says that it has dropped it
				if err := intruder.TrySend("eth0", frame); err != nil && !errors.Is(err, unix.ENOBUFS) {
					t.Fatal(err)
				}
				if ways++; seen() {
					came++
					t.Logf("delivered; with the fast path: %v", fast)
				}
			}
		})
	}
	if open || b.admitted {
		return came == ways
	}
	return came > 0
}

// scene is two hosts that share a network, and the attacker on the first one's NIC. Its
// own rules give what it sends the mark of what goes into a tunnel.
func (b beside) scene(t *testing.T, mode string, f heddle.Family) (*spanScene, *span.Pod) {
	t.Helper()
	s := &spanScene{Cluster: span.New(t, f)}
	s.first, s.second = s.Hosts[0], s.Hosts[1]
	s.net = s.Network(t, 1, nil)
	s.victim = s.Pod(t, "victim", 0, s.net, func(p netip.Prefix) netip.Addr { return span.Addr(p, 0, 1) })
	s.remote = s.Pod(t, "remote", 1, s.net, func(p netip.Prefix) netip.Addr { return span.Addr(p, 1, 0) })
	s.mac, s.macSecond = hardware(t, s.first.Netns, "eth0"), hardware(t, s.second.Netns, "eth0")
	var m heddle.Mode = macvlan.Mode{}
	options := map[string]string{}
	if mode == isIPvlan {
		m = ipvlan.Mode{}
	}
	if b.sub != "" {
		options["ipvlan_mode"] = b.sub
	}
	intruder := s.Beside(t, "intruder", 0, m, options)
	intruder.Sh(t, `nft 'table netdev own { chain out { type filter hook egress device "eth0" priority 0; meta mark set 0x40000000; }; }'`)
	s.victim.Reaches(t, s.remote.Addrs()...)
	return s, intruder
}
