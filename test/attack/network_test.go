package attack_test

import (
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/test/world"
)

// open lets all traffic between networks pass.
func open(*scene) string { return "nft flush chain inet heddle forward" }

// networkAttacks go for containers of other networks, from networks that should
// have no way out, and for connections of others.
func networkAttacks() []attack {
	to := func(dst func(s *scene) netip.Addr) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			a := dst(s)
			return [][]byte{datagram(ether(s.attacker.Endpoint.MAC, s.gateway(), kindOf(a)), s.attacker.Addr(a), a)}
		}
	}
	gate := func(a func(s *scene) netip.Addr) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			return [][]byte{syn(s.attacker.Endpoint.MAC, s.gateway(), s.attacker.Addr(a(s)), a(s))}
		}
	}
	return []attack{
		{class: "isolation", name: "another network over IPv4", modes: both, reason: "isolated", watch: atOther, unguard: open, frames: to(other4)},
		{class: "isolation", name: "another network over IPv6", modes: both, reason: "isolated", watch: atOther, unguard: open, frames: to(other6)},
		{class: "isolation", name: "another network's gateway", modes: both, reason: "isolated", watch: answered, unguard: openGates,
			frames: gate(func(s *scene) netip.Addr { return s.far.Gateways[0] })},
		{class: "isolation", name: "another network's IPv6 gateway", modes: both, reason: "isolated", watch: answered, unguard: openGates,
			frames: gate(func(s *scene) netip.Addr { return s.far.Gateways[1] })},
		{class: "source-route", name: "source routing", modes: both, reason: "isolated", watch: sourceRouted, unguard: open, frames: func(s *scene) [][]byte {
			all := packet(s.attacker.V4(), s.net.Gateways[0])
			hop := s.other.V4().As4()
			// loose source and record route (RFC 791, 3.1), and a byte of padding
			all[0].(*layers.IPv4).Options = []layers.IPv4Option{{OptionType: 131, OptionLength: 7, OptionData: append([]byte{4}, hop[:]...)}, {OptionType: 0}}
			e := ether(s.attacker.Endpoint.MAC, s.gateway(), ip4)
			return [][]byte{build(append([]gopacket.SerializableLayer{e}, all...)...)}
		}},
		{class: "source-route", name: "routing header of type 0", modes: both, watch: atOther, certain: "the kernel takes none (RFC 5095)",
			frames: routing(0, func(s *scene) []byte { return append(make([]byte, 4), s.other.V6().AsSlice()...) })},
		{class: "source-route", name: "segment routing", modes: both, reason: "protocol", watch: segments, unguard: open,
			frames: routing(4, func(s *scene) []byte {
				return append(append([]byte{1, 0, 0, 0}, s.other.V6().AsSlice()...), s.net.Gateways[1].AsSlice()...)
			})},
		{class: "internal", name: "internal network to the outside", modes: both, reason: "isolated", unguard: open, try: fromInside(world.Outside4)},
		{class: "internal", name: "internal network to the outside over IPv6", modes: both, reason: "isolated", unguard: open, try: fromInside(world.Outside6)},
		{class: "v6-off", name: "IPv6 on an IPv4 network", modes: bridged, reason: "spoofed-ip", try: func(t *testing.T, s *scene) bool {
			if addresses := s.prey.Sh(t, "ip -6 -o address show dev eth0"); addresses != "" {
				t.Errorf("IPv6 on an IPv4-only network: %s", addresses)
			}
			came := s.arrives(t, s.prey.Netns, "eth0")
			own, to := s.lone.Endpoint.MAC, s.prey.Endpoint.MAC
			s.lone.Send(t, "eth0", datagram(ether(own, to, ip6), own.LinkLocal(), to.LinkLocal()))
			return came()
		}},
		{class: "conntrack", name: "forged error about another's connection", modes: both, reason: "spoofed-error", unguard: open, watch: atOther, frames: related},
		{class: "conntrack", name: "forged answer to another's connection", modes: both, reason: "spoofed-ip", watch: atOther, frames: func(s *scene) [][]byte {
			e := ether(s.attacker.Endpoint.MAC, s.gateway(), ip4)
			speak(s)
			return [][]byte{build(append([]gopacket.SerializableLayer{e}, between(world.Outside4, s.seenOutside(), 7777, flowPort, []byte(mark))...)...)}
		}},
		{class: "metadata", name: "metadata service", modes: both, watch: atOutside, limit: firewall.LimitMetadata, frames: to(func(*scene) netip.Addr { return netip.MustParseAddr("169.254.169.254") })},
	}
}

func other4(s *scene) netip.Addr { return s.other.V4() }
func other6(s *scene) netip.Addr { return s.other.V6() }

// sourceRouted is atOther on a host that follows source routes.
func sourceRouted(t *testing.T, s *scene) func() bool {
	s.w.Host.Sh(t, "sysctl -qw net.ipv4.conf.all.accept_source_route=1 net.ipv4.conf.%s.accept_source_route=1", s.port())
	t.Cleanup(func() { s.w.Host.Sh(t, "sysctl -qw net.ipv4.conf.all.accept_source_route=0") })
	return atOther(t, s)
}

// segments is atOther on a host that takes part in segment routing.
func segments(t *testing.T, s *scene) func() bool {
	s.w.Host.Sh(t, "sysctl -qw net.ipv6.conf.all.seg6_enabled=1 net.ipv6.conf.%s.seg6_enabled=1", s.port())
	t.Cleanup(func() { s.w.Host.Sh(t, "sysctl -qw net.ipv6.conf.all.seg6_enabled=0") })
	return atOther(t, s)
}

// routing is a packet to the gateway with a routing header that leads on to a
// container of another network (RFC 8200, 4.4; RFC 8754, 2).
func routing(kind byte, data func(s *scene) []byte) func(s *scene) [][]byte {
	return func(s *scene) [][]byte {
		src, dst := s.attacker.V6(), s.net.Gateways[1]
		head := internet(src, dst, layers.IPProtocolIPv6Routing).(*layers.IPv6)
		list := data(s)
		header := append([]byte{byte(layers.IPProtocolUDP), byte((len(list) - 4) / 8), kind, 1}, list...)
		udp := raw(between(src, s.other.V6(), 5555, loopPort, []byte(mark))...)[40:]
		return [][]byte{build(ether(s.attacker.Endpoint.MAC, s.gateway(), ip6), head, gopacket.Payload(append(header, udp...)))}
	}
}

// fromInside sends from an internal network to the outside, by the gateway.
func fromInside(to netip.Addr) func(t *testing.T, s *scene) bool {
	return func(t *testing.T, s *scene) bool {
		hop := s.inmate.Endpoint.ID.PortMAC()
		if s.mode == "bridge" {
			hop = s.shut.GatewayMAC()
		}
		came := atOutside(t, s)
		s.inmate.Send(t, "eth0", datagram(ether(s.inmate.Endpoint.MAC, hop, kindOf(to)), s.inmate.Addr(to), to))
		return came()
	}
}

// flowPort is that of the connection of another network's container, and one that it
// keeps when it is masqueraded.
const flowPort = 61444

// seenOutside is the address by which the outside knows the other container.
func (s *scene) seenOutside() netip.Addr {
	if s.mode != "routed" { // which does not masquerade
		return world.Host4
	}
	return s.other.V4()
}

// speak makes a container of another network talk to the outside, where nobody
// answers.
func speak(s *scene) {
	c, err := s.other.Dial("udp", netip.AddrPortFrom(s.other.V4(), flowPort), netip.AddrPortFrom(world.Outside4, 7777), world.Patience)
	if err == nil {
		c.Close()
	}
}

// related is an ICMP error about that connection, from the attacker.
func related(s *scene) [][]byte {
	speak(s)
	inner := raw(between(s.seenOutside(), world.Outside4, flowPort, 7777, []byte(mark))...)
	message := append([]byte{3, 1, 0, 0, 0, 0, 0, 0}, inner...)
	return [][]byte{icmp4(ether(s.attacker.Endpoint.MAC, s.gateway(), ip4), s.attacker.V4(), s.seenOutside(), message)}
}
