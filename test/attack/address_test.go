package attack_test

import (
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// addressAttacks forge the source address.
func addressAttacks() []attack {
	as := func(source func(s *scene) netip.Addr) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			src := source(s)
			kind, dst := ip4, s.victim.V4()
			if src.Is6() {
				kind, dst = ip6, s.victim.V6()
			}
			return [][]byte{datagram(ether(s.attacker.Endpoint.MAC, s.hop(s.victim), kind), src, dst)}
		}
	}
	fixed := func(text string) func(*scene) netip.Addr {
		return func(*scene) netip.Addr { return netip.MustParseAddr(text) }
	}
	former := func(s *scene) netip.Addr { return s.former }
	linkLocal := func(s *scene) netip.Addr { return s.witness.Endpoint.MAC.LinkLocal() }
	const martian = "the kernel itself refuses such a source when it routes"
	const refuses = "the kernel itself refuses such a source when its firewall sees it"
	all := []attack{
		{name: "neighbour's IPv4", modes: both, frames: as(witness4)},
		{name: "neighbour's IPv6", modes: both, frames: as(witness6)},
		{name: "outside's IPv4", modes: both, frames: as(fixed("192.0.2.2"))},
		{name: "outside's IPv6", modes: both, frames: as(fixed("2001:db8::2"))},
		{name: "gateway's IPv4", modes: "bridge", frames: as(gateway4)},
		{name: "gateway's IPv4 to a router", modes: isRouted, frames: as(gateway4), certain: martian},
		{name: "gateway's IPv6", modes: both, frames: as(gateway6)},
		{name: "neighbour's link-local", modes: "bridge", frames: as(linkLocal)},
		{name: "no IPv4", modes: "bridge", frames: as(fixed("0.0.0.0"))},
		{name: "no IPv6", modes: "bridge", frames: as(fixed("::"))},
		{name: "no IPv6 to a router", modes: isRouted, frames: as(fixed("::")), certain: martian, reason: "none"},
		{name: "loopback as source", modes: "bridge", frames: as(fixed("127.0.0.1"))},
		{name: "loopback as source to a router", modes: isRouted, frames: as(fixed("127.0.0.1")), reason: "loopback", certain: martian},
		{name: "multicast as source", modes: bridged, frames: as(fixed("224.0.0.9")), certainNF: refuses},
		{name: "broadcast as source", modes: bridged, frames: as(fixed("255.255.255.255")), certainNF: refuses},
		{name: "IPv6 loopback as source", modes: bridged, frames: as(fixed("::1")), certainNF: refuses},
		{class: "reuse", name: "address of one who left", modes: bridged, frames: as(former)},
		{class: "reuse", name: "address of one who left to a router", modes: isRouted, frames: as(former), certain: "the address is unreachable then, and the kernel takes it from nobody"},
		{name: "fragment of another", modes: "bridge", frames: func(s *scene) [][]byte {
			head := internet(s.witness.V4(), s.victim.V4(), layers.IPProtocolUDP).(*layers.IPv4)
			head.FragOffset, head.Id = 10, 77
			e := ether(s.attacker.Endpoint.MAC, s.hop(s.victim), ip4)
			return [][]byte{build(e, head, gopacket.Payload(mark+"............"))}
		}, certainNF: "a fragment waits for the others there"},
	}
	for i := range all {
		all[i].watch = atVictim
		if all[i].class == "" {
			all[i].class = "ip"
		}
		switch all[i].reason {
		case "":
			all[i].reason = "spoofed-ip"
		case "none":
			all[i].reason = ""
		}
	}
	return all
}
