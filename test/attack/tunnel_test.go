package attack_test

import (
	"testing"

	"github.com/gopacket/gopacket"

	"github.com/heddle-network/heddle/test/world"
)

// tunnelAttacks put encapsulated packets into tunnels of the host, by way of
// the gateway.
func tunnelAttacks() []attack {
	inner := func(s *scene) []byte {
		return datagram(ether(strangerMAC, strangerMAC, ip4), s.attacker.V4(), loopback4)
	}
	vxlan := func(v6 bool) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			src, dst := s.attacker.V4(), s.net.Gateways[0]
			if v6 {
				src, dst = s.attacker.V6(), s.net.Gateways[1]
			}
			payload := append([]byte{8, 0, 0, 0, 0, 0, tunnelID, 0}, inner(s)...)
			e := ether(s.attacker.Endpoint.MAC, s.gateway(), kindOf(dst))
			return [][]byte{build(append([]gopacket.SerializableLayer{e}, between(src, dst, 5555, 4789, payload)...)...)}
		}
	}
	return []attack{
		{class: "tunnel", name: "VXLAN to the gateway", modes: both, reason: "tunnel", watch: inTunnel(false), frames: vxlan(false)},
		{class: "tunnel", name: "VXLAN over IPv6 to the gateway", modes: both, reason: "tunnel", watch: inTunnel(true), frames: vxlan(true)},
	}
}

// tunnelID is the VNI of the host's tunnel (RFC 7348).
const tunnelID = 77

// inTunnel watches for the frames in a VXLAN device of the host.
func inTunnel(v6 bool) func(t *testing.T, s *scene) func() bool {
	return func(t *testing.T, s *scene) func() bool {
		local := world.Host4
		if v6 {
			local = world.Host6
		}
		s.w.Host.Sh(t, "ip link add vx0 type vxlan id %d dstport 4789 nolearning local %s; ip link set vx0 up", tunnelID, local)
		came := s.arrives(t, s.w.Host, "vx0")
		return func() bool {
			defer s.w.Host.Sh(t, "ip link del vx0")
			return came()
		}
	}
}
