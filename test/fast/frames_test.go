package fast_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/path"
	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/world"
)

// datagram is a UDP packet with a mark in it.
type datagram struct {
	src, dst netip.Addr
	ttl, tos byte
	mark     string
}

func ether(src, dst heddle.MAC, like netip.Addr) *layers.Ethernet {
	kind := layers.EthernetTypeIPv4
	if like.Is6() {
		kind = layers.EthernetTypeIPv6
	}
	return &layers.Ethernet{SrcMAC: src.Bytes(), DstMAC: dst.Bytes(), EthernetType: kind}
}

func (d datagram) layers(port uint16, payload []byte) []gopacket.SerializableLayer {
	udp := &layers.UDP{SrcPort: 45678, DstPort: layers.UDPPort(port)}
	if d.dst.Is6() {
		ip := &layers.IPv6{Version: 6, HopLimit: d.ttl, TrafficClass: d.tos, NextHeader: layers.IPProtocolUDP, SrcIP: d.src.AsSlice(), DstIP: d.dst.AsSlice()}
		udp.SetNetworkLayerForChecksum(ip)
		return []gopacket.SerializableLayer{ip, udp, gopacket.Payload(payload)}
	}
	ip := &layers.IPv4{Version: 4, TTL: d.ttl, TOS: d.tos, Id: 99, Protocol: layers.IPProtocolUDP, SrcIP: d.src.AsSlice(), DstIP: d.dst.AsSlice()}
	udp.SetNetworkLayerForChecksum(ip)
	return []gopacket.SerializableLayer{ip, udp, gopacket.Payload(payload)}
}

// frame is the datagram between two MAC addresses. It is longer than what Ethernet
// would fill up.
func (d datagram) frame(t *testing.T, src, dst heddle.MAC) []byte {
	return world.Build(t, append([]gopacket.SerializableLayer{ether(src, dst, d.dst)}, d.layers(7777, []byte(d.mark+strings.Repeat(".", 40)))...)...)
}

// fromPod is what a container sends to its gateway.
func (d datagram) fromPod(t *testing.T, p *span.Pod) []byte {
	return d.frame(t, p.Endpoint.MAC, p.Endpoint.ID.PortMAC())
}

// tunnel is VXLAN from a machine on the underlay to the first host.
type tunnel struct {
	outer netip.Addr
	vni   uint32
	tos   byte
}

func (s *scene) tunnelled(t *testing.T, o tunnel, d datagram) []byte {
	inner := d.frame(t, s.second.Record.TunnelMAC(), s.first.Record.TunnelMAC())
	header := binary.BigEndian.AppendUint32([]byte{8, 0, 0, 0}, o.vni<<8)
	ip := datagram{src: o.outer, dst: s.first.Outer(), ttl: 64, tos: o.tos}
	src, dst := hardware(t, s.second.Netns, "eth0"), hardware(t, s.first.Netns, "eth0")
	b := world.Build(t, append([]gopacket.SerializableLayer{ether(src, dst, o.outer)}, ip.layers(path.Default().Port(), append(header, inner...))...)...)
	check := 40
	if o.outer.Is6() {
		check = 60
	}
	b[check], b[check+1] = 0, 0 // no checksum, as the kernel's device
	binary.BigEndian.PutUint16(b[check-6:], heddle.TunnelSourceLow)
	return b
}

func hardware(t *testing.T, p world.Netns, link string) heddle.MAC {
	t.Helper()
	_, rest, _ := strings.Cut(p.Sh(t, "ip -o link show dev %s", link), "link/ether ")
	return heddle.MAC(strings.Fields(rest)[0])
}

// dropped sends a frame that must not come to a container, and must be counted.
func (s *scene) dropped(t *testing.T, what string, from world.Netns, link string, frame []byte, to *span.Pod, reason string) {
	t.Helper()
	before := s.first.Drops(t)
	capture := to.Capture(t, "eth0")
	from.Send(t, link, frame)
	if reason != "" {
		world.Soon(t, what+" is counted", func() error {
			if now := s.first.Drops(t); now[reason] == before[reason] {
				return fmt.Errorf("%d as %s, as before", now[reason], reason)
			}
			return nil
		})
	}
	if n := world.Count(capture.Stop(), world.Contains("forged-mark")); n > 0 {
		t.Errorf("%s: the packet came", what)
	}
	if after := s.first.Drops(t); reason != "" && after[reason] != before[reason]+1 {
		t.Errorf("%s: not counted as %s: before %v, after %v", what, reason, before, after)
	}
}

func (s *scene) spoofed(t *testing.T) {
	for i := range s.a.Addrs() {
		d := datagram{src: s.b.Addrs()[i], dst: s.far.Addrs()[i], ttl: 64, mark: "forged-mark"}
		s.dropped(t, "b's address from a to far", s.a.Netns, "eth0", d.fromPod(t, s.a), s.far, "spoofed-ip")
		d.src, d.dst = s.far.Addrs()[i], s.b.Addrs()[i]
		s.dropped(t, "far's address from a to b", s.a.Netns, "eth0", d.fromPod(t, s.a), s.b, "spoofed-ip")
		d.src = s.a.Addrs()[i]
		tagged := slices.Insert(d.fromPod(t, s.a), 12, 0x81, 0, 0, 5)
		s.dropped(t, "a VLAN tag", s.a.Netns, "eth0", tagged, s.b, "")
		s.dropped(t, "another MAC address", s.a.Netns, "eth0", d.frame(t, "0a:66:66:66:66:66", s.a.Endpoint.ID.PortMAC()), s.b, "spoofed-mac")
	}
}

func (s *scene) forged(t *testing.T) {
	peer := tunnel{outer: s.second.Outer(), vni: span.VNI}
	for i := range s.a.Addrs() {
		send := func(what string, o tunnel, src netip.Addr, reason string) {
			t.Helper()
			d := datagram{src: src, dst: s.a.Addrs()[i], ttl: 64, mark: "forged-mark"}
			s.dropped(t, what, s.LAN, "br0", s.tunnelled(t, o, d), s.a, reason)
		}
		send("no peer", tunnel{outer: map[bool]netip.Addr{true: span.LAN4, false: span.LAN6}[peer.outer.Is4()], vni: span.VNI}, s.far.Addrs()[i], "unknown-peer")
		send("another VNI", tunnel{outer: s.second.Outer(), vni: span.VNI + 1}, s.far.Addrs()[i], "")
		send("an address of the host itself", peer, s.b.Addrs()[i], "spoofed-inner")
		send("nobody's address", peer, map[bool]netip.Addr{true: netip.MustParseAddr("203.0.113.7"), false: netip.MustParseAddr("2001:db8:77::7")}[i == 0], "spoofed-inner")
		send("not capable of ECN, and marked", tunnel{outer: s.second.Outer(), vni: span.VNI, tos: 3}, s.far.Addrs()[i], "")
	}
}
