package attack_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// fragmentAttacks hide what a guard looks at: behind fragments, in headers cut
// short, or of an unusual form.
func fragmentAttacks() []attack {
	const looks = "the IP firewall looks at headers itself"
	cut := func(kind layers.EthernetType) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			return [][]byte{build(ether(s.attacker.Endpoint.MAC, s.victim.Endpoint.MAC, kind), gopacket.Payload(mark))}
		}
	}
	all := []attack{
		{name: "cut IPv4 header", reason: "spoofed-ip", watch: atVictim, frames: cut(ip4), certainNF: looks},
		{name: "cut IPv6 header", reason: "spoofed-ip", watch: atVictim, frames: cut(ip6), certainNF: looks},
		{name: "cut ARP", reason: "spoofed-arp", watch: atVictim, frames: cut(layers.EthernetTypeARP), certainNF: looks},
		{name: "IPv6 in an IPv4 frame", reason: "spoofed-ip", watch: atVictim, certainNF: looks, frames: func(s *scene) [][]byte {
			return [][]byte{build(append([]gopacket.SerializableLayer{ether(s.attacker.Endpoint.MAC, s.victim.Endpoint.MAC, ip4)}, packet(s.attacker.V6(), s.victim.V6())...)...)}
		}},
		{name: "ARP of another hardware type", reason: "spoofed-arp", watch: believes(gateway4), frames: func(s *scene) [][]byte {
			own := s.attacker.Endpoint.MAC
			frame := arp(ether(own, s.victim.Endpoint.MAC, layers.EthernetTypeARP), reply, own, gateway4(s), s.victim.V4())
			frame[15] = 6 // IEEE 802, which Linux takes too (arp_rcv)
			return [][]byte{frame}
		}},
		{name: "RA behind a fragment", reason: "headers", watch: atVictim, certainNF: looks, frames: hidden(8, 0)},
		{name: "RA behind a header that never ends", reason: "headers", watch: atVictim, certainNF: looks, frames: hidden(8, 3)},
		{name: "NA in two fragments", reason: "spoofed-nd", counted: 1, watch: believesFragments, certainNF: looks, frames: func(s *scene) [][]byte {
			return fragments(s, 58, icmpMessage(s, s.victim.V6(), neighbourAdvertisement, advertisement(gateway6(s), s.attacker.Endpoint.MAC)), 8)
		}},
	}
	for i := range all {
		all[i].class, all[i].modes = "fragment", bridged
	}
	return all
}

// hidden is a router advertisement in two fragments: in the first there are
// options only, said to be that many times 8 bytes longer than they are.
func hidden(first int, longer byte) func(s *scene) [][]byte {
	return func(s *scene) [][]byte {
		options := noDestination()
		options[0], options[1] = byte(layers.IPProtocolICMPv6), longer
		body := icmpMessage(s, allNodes, routerAdvertisement, router(s.attacker.Endpoint.MAC))
		return fragments(s, byte(layers.IPProtocolIPv6Destination), append(options, body...), first)
	}
}

// icmpMessage is an ICMPv6 message from the attacker's own address, whole.
func icmpMessage(s *scene, dst netip.Addr, kind uint8, body []byte) []byte {
	message := append([]byte{kind, 0, 0, 0}, body...)
	binary.BigEndian.PutUint16(message[2:], checksum6(s.attacker.Endpoint.MAC.LinkLocal(), dst, message))
	return message
}

// fragments sends a payload to the victim in two fragments (RFC 8200, 4.5).
func fragments(s *scene, next byte, payload []byte, first int) [][]byte {
	own := s.attacker.Endpoint.MAC
	dst := s.victim.V6()
	if next == byte(layers.IPProtocolIPv6Destination) {
		dst = allNodes
	}
	one := func(offset int, more byte, part []byte) []byte {
		head := internet(own.LinkLocal(), dst, layers.IPProtocolIPv6Fragment)
		frag := []byte{next, 0, 0, 0, 0, 0, 0, 99}
		binary.BigEndian.PutUint16(frag[2:], uint16(offset)|uint16(more))
		return build(ether(own, s.victim.Endpoint.MAC, ip6), head, gopacket.Payload(append(frag, part...)))
	}
	return [][]byte{one(0, 1, payload[:first]), one(first, 0, payload[first:])}
}

// believesFragments is believes for the gateway, at a victim that takes
// neighbour discovery in fragments (RFC 6980 says it should not).
func believesFragments(t *testing.T, s *scene) func() bool {
	s.victim.Sh(t, "sysctl -qw net.ipv6.conf.eth0.suppress_frag_ndisc=0")
	came := believes(gateway6)(t, s)
	return func() bool {
		defer s.victim.Sh(t, "sysctl -qw net.ipv6.conf.eth0.suppress_frag_ndisc=1")
		return came()
	}
}
