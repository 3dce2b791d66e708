package attack_test

import (
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

var loopback4, loopback6 = netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")

// hostAttacks go for services of the host that listen on the loopback only.
func hostAttacks() []attack {
	return []attack{
		{class: "loopback", name: "loopback over UDP", modes: both, reason: "loopback", watch: atLoopback, frames: func(s *scene) [][]byte {
			return [][]byte{datagram(ether(s.attacker.Endpoint.MAC, s.gateway(), ip4), s.attacker.V4(), loopback4)}
		}},
		{class: "loopback", name: "loopback over UDP with its own source", modes: both, reason: "spoofed-ip", reasonRouted: "loopback", watch: atLoopback,
			certain: "the kernel refuses a loopback source that comes by wire",
			frames: func(s *scene) [][]byte {
				return [][]byte{datagram(ether(s.attacker.Endpoint.MAC, s.gateway(), ip4), loopback4, loopback4)}
			}},
		{class: "loopback", name: "loopback over TCP", modes: both, reason: "loopback", watch: answered, frames: func(s *scene) [][]byte {
			return [][]byte{syn(s.attacker.Endpoint.MAC, s.gateway(), s.attacker.V4(), loopback4)}
		}},
		{class: "loopback", name: "IPv6 loopback over UDP", modes: both, watch: atLoopback, certain: "the kernel takes ::1 from no wire (RFC 4291, 2.5.3)",
			frames: func(s *scene) [][]byte {
				return [][]byte{datagram(ether(s.attacker.Endpoint.MAC, s.gateway(), ip6), s.attacker.V6(), loopback6)}
			}},
	}
}

// syn opens a TCP connection to the host's services.
func syn(src, dst heddle.MAC, from, to netip.Addr) []byte {
	return segment(ether(src, dst, kindOf(to)), from, to, 6666, loopPort)
}

// answered watches for the answer to a SYN at the attacker's.
func answered(t *testing.T, s *scene) func() bool {
	c := s.attacker.Capture(t, "eth0")
	return func() bool {
		return s.saw(c, func(f world.Frame) bool {
			tcp, ok := f.Packet().TransportLayer().(*layers.TCP)
			return ok && !f.Out && tcp.SYN && tcp.ACK
		})
	}
}
