package attack_test

import (
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle/test/world"
)

var loopback4, loopback6 = netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")

// hostAttacks go for services of the host that listen on the loopback only.
func hostAttacks() []attack {
	return []attack{
		{name: "loopback over UDP", modes: both, reason: "loopback", watch: atLoopback, frames: func(s *scene) [][]byte {
			return [][]byte{datagram(ether(s.attacker.Endpoint.MAC, s.gateway(), ip4), s.attacker.V4(), loopback4)}
		}},
		{name: "loopback over UDP with its own source", modes: both, reason: "spoofed-ip", reasonRouted: "loopback", watch: atLoopback,
			certain: "the kernel refuses a loopback source that comes by wire",
			frames: func(s *scene) [][]byte {
				return [][]byte{datagram(ether(s.attacker.Endpoint.MAC, s.gateway(), ip4), loopback4, loopback4)}
			}},
		{name: "loopback over TCP", modes: both, reason: "loopback", watch: answered, frames: func(s *scene) [][]byte {
			return [][]byte{syn(s, s.attacker.V4(), loopback4)}
		}},
		{name: "IPv6 loopback over UDP", modes: both, watch: atLoopback, certain: "the kernel takes ::1 from no wire (RFC 4291, 2.5.3)",
			frames: func(s *scene) [][]byte {
				return [][]byte{datagram(ether(s.attacker.Endpoint.MAC, s.gateway(), ip6), s.attacker.V6(), loopback6)}
			}},
	}
}

// syn opens a TCP connection.
func syn(s *scene, src, dst netip.Addr) []byte {
	tcp := &layers.TCP{SrcPort: 6666, DstPort: loopPort, SYN: true, Window: 1000, Seq: 1}
	head := internet(src, dst, layers.IPProtocolTCP)
	tcp.SetNetworkLayerForChecksum(head.(gopacket.NetworkLayer))
	return build(ether(s.attacker.Endpoint.MAC, s.gateway(), ip4), head, tcp)
}

// answered watches for the answer to a SYN at the attacker's.
func answered(t *testing.T, s *scene) func() bool {
	c := s.attacker.Capture(t, "eth0")
	return func() bool {
		return world.Count(c.Stop(), func(f world.Frame) bool {
			tcp, ok := f.Packet().TransportLayer().(*layers.TCP)
			return ok && !f.Out && tcp.SYN && tcp.ACK
		}) > 0
	}
}

// networkAttacks go for containers of other networks.
func networkAttacks() []attack {
	open := func(*scene) string { return "nft flush chain inet heddle forward" }
	return []attack{
		{name: "another network over IPv4", modes: both, reason: "isolated", watch: atOther, unguard: open, frames: func(s *scene) [][]byte {
			return [][]byte{datagram(ether(s.attacker.Endpoint.MAC, s.gateway(), ip4), s.attacker.V4(), s.other.V4())}
		}},
		{name: "another network over IPv6", modes: both, reason: "isolated", watch: atOther, unguard: open, frames: func(s *scene) [][]byte {
			return [][]byte{datagram(ether(s.attacker.Endpoint.MAC, s.gateway(), ip6), s.attacker.V6(), s.other.V6())}
		}},
		{name: "source routing", modes: both, reason: "isolated", watch: sourceRouted, unguard: open, frames: func(s *scene) [][]byte {
			all := packet(s.attacker.V4(), s.net.Gateways[0])
			hop := s.other.V4().As4()
			// loose source and record route (RFC 791, 3.1), and a byte of padding
			all[0].(*layers.IPv4).Options = []layers.IPv4Option{{OptionType: 131, OptionLength: 7, OptionData: append([]byte{4}, hop[:]...)}, {OptionType: 0}}
			e := ether(s.attacker.Endpoint.MAC, s.gateway(), ip4)
			return [][]byte{build(append([]gopacket.SerializableLayer{e}, all...)...)}
		}},
	}
}

// sourceRouted is atOther on a host that follows source routes.
func sourceRouted(t *testing.T, s *scene) func() bool {
	s.w.Host.Sh(t, "sysctl -qw net.ipv4.conf.all.accept_source_route=1 net.ipv4.conf.%s.accept_source_route=1", s.port())
	t.Cleanup(func() { s.w.Host.Sh(t, "sysctl -qw net.ipv4.conf.all.accept_source_route=0") })
	return atOther(t, s)
}
