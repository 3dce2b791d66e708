package attack_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle/test/world"
)

// groupAttacks abuse multicast, and what nobody needs.
func groupAttacks() []attack {
	flooded := func(s *scene) string { return "bridge link set dev " + s.victim.Port() + " mcast_flood on" }
	from := func(s *scene, group string, kind layers.EthernetType) *layers.Ethernet {
		e := ether(s.attacker.Endpoint.MAC, "", kind)
		e.DstMAC = mustMAC(group)
		return e
	}
	query := func(s *scene) [][]byte {
		head := internet(s.attacker.V4(), netip.MustParseAddr("224.0.0.1"), layers.IPProtocolIGMP)
		return [][]byte{build(from(s, "01:00:5e:00:00:01", ip4), head, gopacket.Payload(append([]byte{0x11, 100, 0xee, 0x9b, 0, 0, 0, 0}, mark...)))}
	}
	dhcp := func(v6 bool) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			src, dst, ports := s.attacker.V4(), s.victim.V4(), [2]uint16{67, 68}
			if v6 {
				src, dst, ports = s.attacker.V6(), s.victim.V6(), [2]uint16{547, 546}
			}
			e := ether(s.attacker.Endpoint.MAC, s.hop(s.victim), kindOf(dst))
			return [][]byte{build(append([]gopacket.SerializableLayer{e}, between(src, dst, ports[0], ports[1], []byte(mark))...)...)}
		}
	}
	return []attack{
		{class: "group", name: "IGMP query", modes: bridged, watch: atVictim, unguard: flooded, frames: query},
		{class: "group", name: "MLD query", modes: bridged, watch: atVictim, unguard: flooded, frames: func(s *scene) [][]byte {
			own := s.attacker.Endpoint.MAC
			return [][]byte{icmp6(from(s, "33:33:00:00:00:01", ip6), own.LinkLocal(), allNodes, 130, append(make([]byte, 20), mark...))}
		}},
		{class: "dhcp", name: "DHCP offer", modes: both, reason: "dhcp-server", watch: atVictim, frames: dhcp(false)},
		{class: "dhcp", name: "DHCPv6 advertisement", modes: both, reason: "dhcp-server", watch: atVictim, frames: dhcp(true)},
		{class: "redirect", name: "ICMP redirect as the gateway", modes: bridged, reason: "spoofed-ip", watch: redirected, frames: func(s *scene) [][]byte {
			// about an echo reply: of other packets the kernel would look for a socket
			inner := raw(internet(s.victim.V4(), world.Beyond4, layers.IPProtocolICMPv4), gopacket.Payload(make([]byte, 8)))
			a := s.attacker.V4().As4()
			message := append(append([]byte{5, 1, 0, 0}, a[:]...), inner...)
			return [][]byte{icmp4(ether(s.attacker.Endpoint.MAC, s.victim.Endpoint.MAC, ip4), s.net.Gateways[0], s.victim.V4(), message)}
		}},
		{class: "size", name: "oversized frame", modes: bridged, try: oversized, unguard: func(s *scene) string {
			script := "ip link set " + s.net.BridgeName(0) + " mtu 9000"
			for _, port := range []string{s.attacker.Port(), s.victim.Port()} {
				script += "; ip link set " + port + " mtu 9000"
			}
			return script + "; ip -n victim link set eth0 mtu 9000"
		}},
	}
}

// redirected watches whether the victim sends to the attacker what is for the
// outside.
func redirected(t *testing.T, s *scene) func() bool {
	look := func() string { return s.victim.Sh(t, "ip route get %s", world.Beyond4) }
	s.victim.Reaches(t, s.attacker.V4()) // or the kernel would first look for the new gateway
	s.victim.Sh(t, "sysctl -qw net.ipv4.conf.all.accept_redirects=1 net.ipv4.conf.eth0.accept_redirects=1 net.ipv4.conf.eth0.secure_redirects=0")
	return func() bool {
		return s.sees(func() bool { return contains(look(), "via "+s.attacker.V4().String()) })
	}
}

// oversized sends more than the MTU, with a link that was told to.
func oversized(t *testing.T, s *scene) bool {
	s.attacker.Sh(t, "ip link set eth0 mtu 9000")
	defer s.attacker.Sh(t, "ip link set eth0 mtu %d", s.net.MTU)
	came := atVictim(t, s)
	say(t, s.attacker.Netns, s.victim.V4(), mark+strings.Repeat(".", 4000))
	return came()
}
