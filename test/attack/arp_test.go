package attack_test

import (
	"net/netip"

	"github.com/gopacket/gopacket/layers"
)

const (
	request = uint16(layers.ARPRequest)
	reply   = uint16(layers.ARPReply)
)

// arpAttacks claim addresses over ARP. A routed network has no ARP to attack:
// the host's entries are permanent.
func arpAttacks() []attack {
	claim := func(whose func(s *scene) netip.Addr, operation uint16) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			own := s.attacker.Endpoint.MAC
			return [][]byte{arp(ether(own, s.victim.Endpoint.MAC, layers.EthernetTypeARP), operation, own, whose(s), s.victim.V4())}
		}
	}
	all := []attack{
		{name: "ARP reply for the gateway", watch: believes(gateway4), frames: claim(gateway4, reply)},
		{name: "ARP reply for a neighbour", watch: believes(witness4), frames: claim(witness4, reply)},
		{name: "ARP request as the gateway", watch: believes(gateway4), frames: claim(gateway4, request)},
		{name: "ARP reply for the outside", watch: atVictim, frames: claim(func(*scene) netip.Addr { return netip.MustParseAddr("192.0.2.2") }, reply)},
		{name: "gratuitous ARP for the victim", watch: atVictim, frames: func(s *scene) [][]byte {
			e := ether(s.attacker.Endpoint.MAC, "", layers.EthernetTypeARP)
			e.DstMAC = broadcast()
			return [][]byte{arp(e, request, s.attacker.Endpoint.MAC, s.victim.V4(), s.victim.V4())}
		}},
		{name: "gratuitous ARP for the gateway", watch: atBridge, frames: func(s *scene) [][]byte {
			e := ether(s.attacker.Endpoint.MAC, "", layers.EthernetTypeARP)
			e.DstMAC = broadcast()
			return [][]byte{arp(e, request, s.attacker.Endpoint.MAC, s.net.Gateways[0], s.net.Gateways[0])}
		}},
		{name: "ARP with another's MAC inside", watch: atVictim, frames: func(s *scene) [][]byte {
			e := ether(s.attacker.Endpoint.MAC, s.victim.Endpoint.MAC, layers.EthernetTypeARP)
			return [][]byte{arp(e, reply, strangerMAC, s.attacker.V4(), s.victim.V4())}
		}},
	}
	for i := range all {
		all[i].class, all[i].modes, all[i].reason = "arp", "bridge", "spoofed-arp"
	}
	return all
}
