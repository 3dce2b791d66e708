package attack_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/world"
)

var allNodes = netip.MustParseAddr("ff02::1")

// The types of ICMPv6 messages (RFC 4861, 4).
const (
	routerAdvertisement    = 134
	neighbourSolicitation  = 135
	neighbourAdvertisement = 136
	redirectMessage        = 137
)

// discoveryAttacks abuse IPv6 neighbour discovery.
func discoveryAttacks() []attack {
	na := func(target func(s *scene) netip.Addr, extension ...byte) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			own := s.attacker.Endpoint.MAC
			e := ether(own, s.victim.Endpoint.MAC, ip6)
			return [][]byte{icmp6(e, own.LinkLocal(), s.victim.V6(), neighbourAdvertisement, advertisement(target(s), own), extension...)}
		}
	}
	ra := func(count int, extension ...byte) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			own := s.attacker.Endpoint.MAC
			return repeat(count, icmp6(ether(own, s.hop(s.victim), ip6), own.LinkLocal(), allNodes, routerAdvertisement, router(own), extension...))
		}
	}
	return []attack{
		{class: "nd", name: "NA for the gateway", modes: "bridge", reason: "spoofed-nd", watch: believes(gateway6), frames: na(gateway6)},
		{class: "nd", name: "NA for a neighbour", modes: "bridge", reason: "spoofed-nd", watch: believes(witness6), frames: na(witness6)},
		{class: "nd", name: "NA behind options", modes: "bridge", reason: "spoofed-nd", watch: atVictim, frames: na(gateway6, noDestination()...)},
		{class: "nd", name: "NS as a neighbour", modes: "bridge", reason: "spoofed-ip", watch: believes(witness6), frames: func(s *scene) [][]byte {
			own := s.attacker.Endpoint.MAC
			body := append(append(make([]byte, 4), s.victim.V6().AsSlice()...), ndOptions(1, own)...)
			return [][]byte{icmp6(ether(own, s.victim.Endpoint.MAC, ip6), s.witness.V6(), s.victim.V6(), neighbourSolicitation, body)}
		}},
		{class: "ra", name: "100 RA to a neighbour", modes: "bridge", reason: "router-advert", watch: atVictim, frames: ra(100)},
		{class: "ra", name: "100 RA to a neighbour that listens", modes: "bridge", reason: "router-advert", watch: victimRoutes, frames: ra(100)},
		{class: "ra", name: "RA behind options", modes: "bridge", reason: "router-advert", watch: atVictim, frames: ra(1, noDestination()...)},
		{class: "ra", name: "100 RA to the host", modes: both, reason: "router-advert", watch: hostRoutes, frames: func(s *scene) [][]byte {
			own := s.attacker.Endpoint.MAC
			return repeat(100, icmp6(ether(own, s.gateway(), ip6), own.LinkLocal(), allNodes, routerAdvertisement, router(own)))
		}, unguard: func(s *scene) string { return "sysctl -qw net.ipv6.conf." + s.port() + ".accept_ra=2" }},
		{class: "redirect", name: "redirect", modes: "bridge", reason: "router-advert", watch: atVictim, frames: redirect},
		{class: "redirect", name: "redirect to a router", modes: isRouted, reason: "router-advert", watch: hostRoutes, frames: redirect, certain: "a router takes no redirects"},
	}
}

func redirect(s *scene) [][]byte {
	own := s.attacker.Endpoint.MAC
	body := append(append(make([]byte, 4), own.LinkLocal().AsSlice()...), world.Beyond6.AsSlice()...)
	return [][]byte{icmp6(ether(own, s.hop(s.victim), ip6), own.LinkLocal(), s.victim.V6(), redirectMessage, append(body, ndOptions(2, own)...))}
}

// hostRoutes watches for a route that an advertisement gave the host.
func hostRoutes(t *testing.T, s *scene) func() bool {
	return s.advertised(func() string { return s.w.Host.Sh(t, "ip -6 route; ip -6 address") })
}

// victimRoutes watches the same in a neighbour that does listen to
// advertisements.
func victimRoutes(t *testing.T, s *scene) func() bool {
	s.victim.Sh(t, "sysctl -qw net.ipv6.conf.eth0.accept_ra=2")
	t.Cleanup(func() {
		s.victim.Sh(t, "sysctl -qw net.ipv6.conf.eth0.accept_ra=0; ip -6 route flush proto ra; ip -6 address flush dynamic")
	})
	return s.advertised(func() string { return s.victim.Sh(t, "ip -6 route; ip -6 address") })
}

func (s *scene) advertised(look func() string) func() bool {
	return func() bool {
		return s.sees(func() bool {
			seen := look()
			return strings.Contains(seen, "2001:db8:bad:") || strings.Contains(seen, "proto ra")
		})
	}
}
