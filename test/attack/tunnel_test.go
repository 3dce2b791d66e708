package attack_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

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
	carried := func(proto layers.IPProtocol, head ...byte) func(s *scene) [][]byte {
		return func(s *scene) [][]byte {
			ip := internet(s.attacker.V4(), s.net.Gateways[0], proto)
			payload := append(head, raw(packet(s.attacker.V4(), loopback4)...)...)
			return [][]byte{build(ether(s.attacker.Endpoint.MAC, s.gateway(), ip4), ip, gopacket.Payload(payload))}
		}
	}
	return []attack{
		{class: "tunnel", name: "VXLAN to the gateway", modes: both, reason: "tunnel", watch: inTunnel(false), frames: vxlan(false)},
		{class: "tunnel", name: "VXLAN over IPv6 to the gateway", modes: both, reason: "tunnel", watch: inTunnel(true), frames: vxlan(true)},
		{class: "tunnel", name: "IP in IP to the gateway", modes: both, reason: "tunnel", watch: carries("ip4:4"), frames: carried(layers.IPProtocolIPv4)},
		{class: "tunnel", name: "IPv6 in IP to the gateway", modes: both, reason: "tunnel", watch: carries("ip4:41"), frames: carried(layers.IPProtocolIPv6)},
		{class: "tunnel", name: "GRE to the gateway", modes: both, reason: "tunnel", watch: carries("ip4:47"), frames: carried(layers.IPProtocolGRE, 0, 0, 8, 0)},
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

// carries watches for what the host hears of a protocol of its own.
func carries(protocol string) func(t *testing.T, s *scene) func() bool {
	return func(t *testing.T, s *scene) func() bool {
		c, err := net.ListenPacket(protocol, netip.IPv4Unspecified().String())
		if err != nil {
			t.Fatal(err)
		}
		return func() bool {
			defer c.Close()
			c.SetReadDeadline(time.Now().Add(s.limit()))
			_, _, err := c.ReadFrom(make([]byte, 2048))
			return err == nil
		}
	}
}
