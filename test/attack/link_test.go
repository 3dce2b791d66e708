package attack_test

import (
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle"
)

const (
	ip4 = layers.EthernetTypeIPv4
	ip6 = layers.EthernetTypeIPv6
)

// linkAttacks forge what stands in the Ethernet header.
func linkAttacks() []attack {
	own := func(s *scene) heddle.MAC { return s.attacker.Endpoint.MAC }
	from := func(src func(s *scene) heddle.MAC) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			return [][]byte{datagram(ether(src(s), s.hop(s.victim), ip4), s.attacker.V4(), s.victim.V4()),
				datagram(ether(src(s), s.hop(s.victim), ip6), s.attacker.V6(), s.victim.V6())}
		}
	}
	odd := func(kind layers.EthernetType, inside ...gopacket.SerializableLayer) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			all := append([]gopacket.SerializableLayer{ether(own(s), s.victim.Endpoint.MAC, kind)}, inside...)
			if len(inside) == 0 {
				all = append(all, gopacket.Payload(mark+strings.Repeat(".", 46)))
			} else {
				all = append(all, packet(s.witness.V4(), s.victim.V4())...)
			}
			return [][]byte{build(all...)}
		}
	}
	tag := func(id uint16) *layers.Dot1Q { return &layers.Dot1Q{VLANIdentifier: id, Type: ip4} }
	return []attack{
		{class: "mac", name: "stranger's MAC", modes: both, reason: "spoofed-mac", watch: atVictim,
			frames: from(func(*scene) heddle.MAC { return strangerMAC })},
		{class: "mac", name: "neighbour's MAC", modes: both, reason: "spoofed-mac", watch: atVictim,
			frames: from(func(s *scene) heddle.MAC { return s.witness.Endpoint.MAC })},
		{class: "mac", name: "gateway's MAC", modes: "bridge", reason: "spoofed-mac", watch: atVictim,
			frames: from(func(s *scene) heddle.MAC { return s.gateway() })},
		{class: "ethertype", name: "VLAN tag", modes: "bridge", reason: "ethertype", watch: atVictim, frames: odd(layers.EthernetTypeDot1Q, tag(5))},
		{class: "ethertype", name: "priority tag", modes: "bridge", reason: "ethertype", watch: atVictim, frames: odd(layers.EthernetTypeDot1Q, tag(0))},
		{class: "ethertype", name: "service tag", modes: "bridge", reason: "ethertype", watch: atVictim, frames: odd(layers.EthernetTypeQinQ, tag(5))},
		{class: "ethertype", name: "two tags", modes: "bridge", reason: "ethertype", watch: atVictim,
			frames: odd(layers.EthernetTypeQinQ, &layers.Dot1Q{VLANIdentifier: 5, Type: layers.EthernetTypeDot1Q}, tag(6))},
		{class: "control", name: "pause frame", modes: "bridge", watch: atVictim, certain: "a bridge takes pause frames itself (IEEE 802.3, 31B)",
			frames: func(s *scene) [][]byte {
				return [][]byte{build(ether(own(s), "01:80:c2:00:00:01", 0x8808), gopacket.Payload("\x00\x01\xff\xff"+mark))}
			}},
		{class: "ethertype", name: "unknown ethertype", modes: "bridge", reason: "ethertype", watch: atVictim, frames: odd(0x88b5)},
		{class: "ethertype", name: "RARP", modes: "bridge", reason: "ethertype", watch: atVictim, frames: odd(0x8035)},
		{class: "ethertype", name: "LLC and SNAP", modes: "bridge", reason: "ethertype", watch: atVictim, frames: func(s *scene) [][]byte {
			return [][]byte{llc(own(s), s.victim.Endpoint.MAC, "\xaa\xaa\x03\x00\x00\x00\x08\x00")}
		}},
		{class: "control", name: "spanning tree", modes: "bridge", reason: "ethertype", watch: atBridge, frames: func(s *scene) [][]byte {
			return [][]byte{llc(own(s), "01:80:c2:00:00:00", "\x42\x42\x03\x00\x00\x00\x00\x00")}
		}},
		{class: "control", name: "LLDP", modes: "bridge", watch: atVictim, certain: "a bridge forwards no link-local group but that of the spanning tree",
			frames: func(s *scene) [][]byte {
				return [][]byte{build(ether(own(s), "01:80:c2:00:00:0e", 0x88cc), gopacket.Payload(mark))}
			}},
		{class: "cam", name: "flood of MACs", modes: "bridge", reason: "spoofed-mac", watch: learns, frames: manyMACs,
			unguard: func(s *scene) string { return "bridge link set dev " + s.attacker.Port() + " learning on" }},
		{class: "isolation", name: "MAC of another network", modes: "bridge", watch: atOther, certain: "the networks have bridges of their own",
			frames: func(s *scene) [][]byte {
				return [][]byte{datagram(ether(own(s), s.other.Endpoint.MAC, ip4), s.attacker.V4(), s.other.V4())}
			}},
		{class: "flood", name: "broadcast", modes: "bridge", watch: atVictim,
			unguard: func(s *scene) string { return "bridge link set dev " + s.victim.Port() + " bcast_flood on" },
			frames: func(s *scene) [][]byte {
				e := ether(own(s), "", ip4)
				e.DstMAC = broadcast()
				return [][]byte{datagram(e, s.attacker.V4(), heddle.LastAddr(s.net.Subnets[0]))}
			}},
	}
}

// llc is an IEEE 802.3 frame: a length in place of a type.
func llc(src, dst heddle.MAC, head string) []byte {
	body := head + mark + strings.Repeat(".", 40)
	return build(ether(src, dst, layers.EthernetType(len(body))), gopacket.Payload(body))
}

// manyMACs are frames from addresses that the bridge could learn.
func manyMACs(s *scene) [][]byte {
	var all [][]byte
	for i := range 200 {
		mac := heddle.EndpointID{Container: "flood"}.DefaultMAC("", i)
		all = append(all, datagram(ether(mac, s.gateway(), ip4), s.attacker.V4(), s.net.Gateways[0]))
	}
	return all
}

// learns watches whether the forwarding table grows.
func learns(t *testing.T, s *scene) func() bool {
	size := func() int { return strings.Count(s.w.Host.Sh(t, "bridge fdb show br %s", s.net.BridgeName(0)), "\n") }
	before := size()
	return func() bool { return s.sees(func() bool { return size() > before }) }
}
