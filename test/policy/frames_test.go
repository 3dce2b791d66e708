package policy_test

import (
	"encoding/binary"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// Frames are built by hand, since most are what no stack would send. Checksums of the upper layers are left out: it is seen whether
// a frame arrives, not whether a program gets it.

const (
	icmp4, tcp, udp, sctp     = 1, 6, 17, 132
	hopByHop, routing, piece6 = 0, 43, 44
	icmp6, dstOptions, auth   = 58, 60, 51
)

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// sum is the Internet checksum (RFC 1071).
func sum(b []byte) uint16 {
	var s uint32
	for i := 0; i+1 < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return ^uint16(s)
}

// frame is an Ethernet frame with a packet of IPv4 or IPv6.
func frame(src, dst heddle.MAC, packet []byte) []byte {
	kind := []byte{0x08, 0x00}
	if packet[0]>>4 == 6 {
		kind = []byte{0x86, 0xdd}
	}
	return join(dst.Bytes(), src.Bytes(), kind, packet)
}

// ip4 is an IPv4 packet; piece is its field of flags and fragment offset.
func ip4(src, dst netip.Addr, proto byte, piece, id uint16, options, payload []byte) []byte {
	h := make([]byte, 20, 20+len(options))
	h[0], h[8], h[9] = 0x45+byte(len(options)/4), 64, proto
	binary.BigEndian.PutUint16(h[2:], uint16(20+len(options)+len(payload)))
	binary.BigEndian.PutUint16(h[4:], id)
	binary.BigEndian.PutUint16(h[6:], piece)
	copy(h[12:], src.AsSlice())
	copy(h[16:], dst.AsSlice())
	h = append(h, options...)
	binary.BigEndian.PutUint16(h[10:], sum(h))
	return append(h, payload...)
}

// ip6 is an IPv6 packet.
func ip6(src, dst netip.Addr, next, hops byte, payload []byte) []byte {
	h := make([]byte, 40)
	h[0], h[6], h[7] = 0x60, next, hops
	binary.BigEndian.PutUint16(h[4:], uint16(len(payload)))
	copy(h[8:], src.AsSlice())
	copy(h[24:], dst.AsSlice())
	return append(h, payload...)
}

// ip is a packet of the addresses' version.
func ip(src, dst netip.Addr, proto byte, payload []byte) []byte {
	if dst.Is4() {
		return ip4(src, dst, proto, 0, 0, nil, payload)
	}
	return ip6(src, dst, proto, 64, payload)
}

func ports(from, to uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, from), to)
}

// datagram is UDP.
func datagram(from, to uint16, payload []byte) []byte {
	return join(ports(from, to), binary.BigEndian.AppendUint16(nil, uint16(8+len(payload))), []byte{0, 0}, payload)
}

// segment is TCP.
func segment(from, to uint16, flags byte, payload []byte) []byte {
	return join(ports(from, to), make([]byte, 8), []byte{0x50, flags, 0x20, 0, 0, 0, 0, 0}, payload)
}

// message is ICMP, with its checksum for IPv4.
func message(kind, code byte, rest, payload []byte) []byte {
	m := join([]byte{kind, code, 0, 0}, rest, payload)
	binary.BigEndian.PutUint16(m[2:], sum(m))
	return m
}

// header is an extension header of 8 bytes before the next one.
func header(next byte, rest ...byte) []byte {
	h := make([]byte, 8)
	h[0] = next
	copy(h[2:], rest)
	return h
}

// fragment is a fragment header (RFC 8200, 4.5).
func fragment(next byte, offset int, more bool, id uint32) []byte {
	h := make([]byte, 8)
	h[0] = next
	binary.BigEndian.PutUint16(h[2:], uint16(offset))
	if more {
		h[3] |= 1
	}
	binary.BigEndian.PutUint32(h[4:], id)
	return h
}
