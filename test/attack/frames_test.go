package attack_test

import (
	"encoding/binary"
	"net"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle"
)

// The parts of forged frames. Lengths and checksums are right: what is forged
// is what the attack says, and nothing else.

const strangerMAC heddle.MAC = "0a:66:66:66:66:66"

func broadcast() net.HardwareAddr { return net.HardwareAddr{255, 255, 255, 255, 255, 255} }

func ether(src, dst heddle.MAC, kind layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: src.Bytes(), DstMAC: dst.Bytes(), EthernetType: kind}
}

func build(all ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...)
	if err != nil {
		panic(err) // a mistake in the attack itself
	}
	return append([]byte{}, b.Bytes()...)
}

// datagram is a marked UDP datagram from one address to another.
func datagram(e *layers.Ethernet, src, dst netip.Addr) []byte {
	return build(append([]gopacket.SerializableLayer{e}, packet(src, dst)...)...)
}

// kindOf is the ethertype of an address's family.
func kindOf(a netip.Addr) layers.EthernetType {
	if a.Is4() {
		return ip4
	}
	return ip6
}

// segment opens a TCP connection between two ports.
func segment(e *layers.Ethernet, src, dst netip.Addr, from, to uint16) []byte {
	tcp := &layers.TCP{SrcPort: layers.TCPPort(from), DstPort: layers.TCPPort(to), SYN: true, Window: 1000, Seq: 1}
	head := internet(src, dst, layers.IPProtocolTCP)
	tcp.SetNetworkLayerForChecksum(head.(gopacket.NetworkLayer))
	return build(e, head, tcp)
}

// packet is the IP packet with the marked datagram.
func packet(src, dst netip.Addr) []gopacket.SerializableLayer {
	return between(src, dst, 5555, loopPort, []byte(mark))
}

// between is the IP packet with a datagram from one port to another.
func between(src, dst netip.Addr, from, to uint16, payload []byte) []gopacket.SerializableLayer {
	udp := &layers.UDP{SrcPort: layers.UDPPort(from), DstPort: layers.UDPPort(to)}
	head := internet(src, dst, layers.IPProtocolUDP)
	udp.SetNetworkLayerForChecksum(head.(gopacket.NetworkLayer))
	return []gopacket.SerializableLayer{head, udp, gopacket.Payload(payload)}
}

// internet is an IP header of the addresses' family.
func internet(src, dst netip.Addr, proto layers.IPProtocol) gopacket.SerializableLayer {
	if dst.Is4() {
		return &layers.IPv4{Version: 4, TTL: 64, Protocol: proto, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
	}
	return &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: proto, SrcIP: src.AsSlice(), DstIP: dst.AsSlice()}
}

// arp is an ARP message; the sender is what it claims.
func arp(e *layers.Ethernet, operation uint16, mac heddle.MAC, sender, target netip.Addr) []byte {
	return build(e, &layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
		Operation: operation, SourceHwAddress: mac.Bytes(), SourceProtAddress: sender.AsSlice(),
		DstHwAddress: make([]byte, 6), DstProtAddress: target.AsSlice()}, gopacket.Payload(mark))
}

// icmp6 is an ICMPv6 message of a type with its body, behind the given
// extension header if there is one.
func icmp6(e *layers.Ethernet, src, dst netip.Addr, kind uint8, body []byte, extension ...byte) []byte {
	head := internet(src, dst, layers.IPProtocolICMPv6).(*layers.IPv6)
	message := append([]byte{kind, 0, 0, 0}, body...)
	binary.BigEndian.PutUint16(message[2:], checksum6(src, dst, message))
	if len(extension) > 0 {
		head.NextHeader = layers.IPProtocolIPv6Destination
		extension[0] = byte(layers.IPProtocolICMPv6)
		message = append(extension, message...)
	}
	return build(e, head, gopacket.Payload(message))
}

// checksum6 is the checksum of an ICMPv6 message (RFC 8200, 8.1).
func checksum6(src, dst netip.Addr, message []byte) uint16 {
	pseudo := append(src.AsSlice(), dst.AsSlice()...)
	pseudo = append(pseudo, 0, 0, byte(len(message)>>8), byte(len(message)), 0, 0, 0, byte(layers.IPProtocolICMPv6))
	return sum16(append(pseudo, message...))
}

// sum16 is the Internet checksum (RFC 1071).
func sum16(all []byte) uint16 {
	if len(all)%2 == 1 {
		all = append(all[:len(all):len(all)], 0)
	}
	sum := uint32(0)
	for i := 0; i < len(all); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(all[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// options of neighbour discovery: a link-layer address, and the mark in an
// option that nobody knows (RFC 4861, 4.6).
func ndOptions(kind byte, mac heddle.MAC) []byte {
	known := append([]byte{kind, 1}, mac.Bytes()...)
	unknown := append([]byte{253, 2}, append([]byte(mark), 0, 0, 0)...)
	return append(known, unknown...)
}

// noDestination is an empty destination options header (PadN).
func noDestination() []byte { return []byte{0, 0, 1, 4, 0, 0, 0, 0} }

// advertisement is a neighbour advertisement's body: override set.
func advertisement(target netip.Addr, mac heddle.MAC) []byte {
	return append(append([]byte{0x20, 0, 0, 0}, target.AsSlice()...), ndOptions(2, mac)...)
}

// router is a router advertisement's body: a default router, and a prefix to
// make addresses of.
func router(mac heddle.MAC) []byte {
	body := []byte{64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0}
	prefix := append([]byte{3, 4, 64, 0xc0, 0, 0, 0x0e, 0x10, 0, 0, 0x0e, 0x10, 0, 0, 0, 0}, netip.MustParseAddr("2001:db8:bad::").AsSlice()...)
	return append(append(body, prefix...), ndOptions(1, mac)...)
}

// repeat is the same frame many times.
func repeat(count int, frame []byte) [][]byte {
	all := make([][]byte, count)
	for i := range all {
		all[i] = frame
	}
	return all
}

// icmp4 is an ICMP message; its checksum is filled in.
func icmp4(e *layers.Ethernet, src, dst netip.Addr, message []byte) []byte {
	binary.BigEndian.PutUint16(message[2:], sum16(message))
	return build(e, internet(src, dst, layers.IPProtocolICMPv4), gopacket.Payload(message))
}

// raw is a packet without a link's header.
func raw(all ...gopacket.SerializableLayer) []byte { return build(all...) }

func mustMAC(s string) net.HardwareAddr {
	mac, err := net.ParseMAC(s)
	if err != nil {
		panic(err) // a mistake in the attack itself
	}
	return mac
}
