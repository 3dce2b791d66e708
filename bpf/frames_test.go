package bpf_test

import (
	"bytes"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle"
)

// talk is a packet of one of the rig's endpoints to an address.
type talk struct {
	from, to string // endpoints' links; or to an address
	v6       bool
	proto    string // tcp, udp, echo, reply
	ttl, tos byte
	size     int // of the payload
}

var protocols = []string{"tcp", "udp", "echo", "reply"}

// addrOf is an endpoint's address, or the one that is written.
func addrOf(name string, v6 bool) netip.Addr {
	for _, e := range rigEndpoints {
		if e.link == name && v6 {
			return netip.MustParseAddr(e.v6)
		} else if e.link == name {
			return netip.MustParseAddr(e.v4)
		}
	}
	return netip.MustParseAddr(name)
}

// packet is the talk's IP packet.
func (k talk) packet() []gopacket.SerializableLayer {
	src, dst := addrOf(k.from, k.v6), addrOf(k.to, k.v6)
	if k.ttl == 0 {
		k.ttl = 64
	}
	four := &layers.IPv4{Version: 4, TTL: k.ttl, TOS: k.tos, Id: 77, Flags: layers.IPv4DontFragment, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
	six := &layers.IPv6{Version: 6, HopLimit: k.ttl, TrafficClass: k.tos, FlowLabel: 0x54321, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
	net := gopacket.SerializableLayer(four)
	if k.v6 {
		net = six
	}
	upper, number := k.upper(net.(gopacket.NetworkLayer))
	four.Protocol, six.NextHeader = number, number
	return append([]gopacket.SerializableLayer{net}, append(upper, gopacket.Payload(bytes.Repeat([]byte("heddle."), k.size/7+1)[:k.size]))...)
}

func (k talk) upper(net gopacket.NetworkLayer) ([]gopacket.SerializableLayer, layers.IPProtocol) {
	switch {
	case k.proto == "tcp":
		l := &layers.TCP{SrcPort: 1000, DstPort: 2000, ACK: true, Seq: 3, Window: 500}
		l.SetNetworkLayerForChecksum(net)
		return []gopacket.SerializableLayer{l}, layers.IPProtocolTCP
	case k.proto == "udp":
		l := &layers.UDP{SrcPort: 1000, DstPort: 2000}
		l.SetNetworkLayerForChecksum(net)
		return []gopacket.SerializableLayer{l}, layers.IPProtocolUDP
	case k.v6:
		kind := map[string]uint8{"echo": layers.ICMPv6TypeEchoRequest, "reply": layers.ICMPv6TypeEchoReply}[k.proto]
		l := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(kind, 0)}
		l.SetNetworkLayerForChecksum(net)
		return []gopacket.SerializableLayer{l, &layers.ICMPv6Echo{Identifier: 5, SeqNumber: 6}}, layers.IPProtocolICMPv6
	}
	kind := map[string]uint8{"echo": layers.ICMPv4TypeEchoRequest, "reply": layers.ICMPv4TypeEchoReply}[k.proto]
	return []gopacket.SerializableLayer{&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(kind, 0), Id: 5, Seq: 6}}, layers.IPProtocolICMPv4
}

func kind(v6 bool) layers.EthernetType {
	if v6 {
		return layers.EthernetTypeIPv6
	}
	return layers.EthernetTypeIPv4
}

func build(all ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		panic(err) // a mistake in the test itself
	}
	return bytes.Clone(b.Bytes())
}

// unpadded takes away what the builder adds to short frames: inside a host nobody
// does.
func unpadded(b []byte, size int) []byte { return b[:min(len(b), size)] }

// length is that of the talk's frame.
func (k talk) length() int {
	headers := map[string]int{"tcp": 20}[k.proto]
	if headers == 0 {
		headers = 8
	}
	return 14 + map[bool]int{false: 20, true: 40}[k.v6] + headers + k.size
}

// sent is the talk's frame as the container sends it, to a MAC address.
func (k talk) sent(to heddle.MAC) []byte {
	e := &layers.Ethernet{SrcMAC: podMAC(k.from).Bytes(), DstMAC: to.Bytes(), EthernetType: kind(k.v6)}
	return unpadded(build(append([]gopacket.SerializableLayer{e}, k.packet()...)...), k.length())
}

func (r *rig) placeOf(link string) heddle.Shortcut {
	return r.places[heddle.Single(addrOf(link, false))]
}

// out is the talk's frame to the gateway, or on the bridge.
func (r *rig) out(k talk) []byte {
	s := r.placeOf(k.from)
	if s.Bridged {
		return k.sent(podMAC(k.to))
	}
	return k.sent(s.PortMAC)
}

// by6 is a talk from the peer that is reached over IPv6.
func by6(k talk) talk {
	k.from = map[bool]string{false: "10.1.0.200", true: "fd01::c8"}[k.v6]
	return k
}

// peer is the outer address of the peer that has the talk's sender.
func (k talk) peer() netip.Addr {
	if a := addrOf(k.from, k.v6).AsSlice(); a[len(a)-1] >= 192 {
		return remote6
	}
	return remote
}

// tunnelled is the talk inside a peer's VXLAN.
func (r *rig) tunnelled(k talk, outer netip.Addr, tos byte) []byte {
	e := &layers.Ethernet{SrcMAC: peerTunnelMAC.Bytes(), DstMAC: tunnelMAC.Bytes(), EthernetType: kind(k.v6)}
	inner := unpadded(build(append([]gopacket.SerializableLayer{e}, k.packet()...)...), k.length())
	var ip gopacket.SerializableLayer = &layers.IPv4{Version: 4, TTL: 64, TOS: tos, Protocol: layers.IPProtocolUDP, SrcIP: outer.AsSlice(), DstIP: local.AsSlice()}
	if outer.Is6() {
		ip = &layers.IPv6{Version: 6, HopLimit: 64, TrafficClass: tos, NextHeader: layers.IPProtocolUDP, SrcIP: outer.AsSlice(), DstIP: local6.AsSlice()}
	}
	udp := &layers.UDP{SrcPort: 600, DstPort: rigPort}
	udp.SetNetworkLayerForChecksum(ip.(gopacket.NetworkLayer))
	b := build(&layers.Ethernet{SrcMAC: remoteMAC.Bytes(), DstMAC: r.own.Bytes(), EthernetType: kind(outer.Is6())}, ip,
		udp, &layers.VXLAN{ValidIDFlag: true, VNI: rigVNI}, gopacket.Payload(inner))
	check := front(b) - behind + 6
	b[check], b[check+1] = 0, 0
	return b
}
