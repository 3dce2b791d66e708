package bpf_test

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// What VXLAN puts before an inner IP packet, with the outer Ethernet header; behind is
// the part of it that follows the outer IP header.
const (
	behind = 8 + 8 + 14
	front4 = 14 + 20 + behind
	front6 = 14 + 40 + behind
)

func front(b []byte) int {
	if binary.BigEndian.Uint16(b[12:]) == 0x86dd {
		return front6
	}
	return front4
}

// arrive is what from_wire does.
func (m model) arrive(gso int, frame []byte) verdict {
	if !m.ours(frame) {
		return verdict{code: next, out: frame}
	}
	size := front(frame)
	h, reason := read(binary.BigEndian.Uint16(frame[size-2:]), frame[size:])
	if reason != "" {
		return left("", reason, frame)
	}
	udp := frame[size-behind:]
	if mac(frame) == mac(frame[6:]) || mac(udp[16:]) != m.wire.MAC || binary.BigEndian.Uint16(udp[6:]) != 0 {
		return left("", "link", frame)
	}
	src, length, outer := header(frame)
	if gso == 0 && (h.length != len(frame)-size || length != len(frame)-14 || int(binary.BigEndian.Uint16(udp[4:])) != len(udp)) {
		return left("", "length", frame)
	}
	to, ok := m.at(h.dst, h.dst.BitLen())
	if !ok || to.Link == "" || to.Bridged {
		return left("", "destination", frame)
	}
	from, ok := m.at(h.src, to.BlockBits)
	_, known := m.remotes[from.Peer]
	inner := h.tos & 3
	switch {
	case !ok || from.Group != to.Group || !known || from.Peer != src || !tunnelSource(udp):
		return left(to.Link, "peer", frame)
	case !h.fits(gso, to.MTU):
		return left(to.Link, "mtu", frame)
	case h.ttl <= 1:
		return left(to.Link, "ttl", frame)
	case outer == 3 && inner == 0, outer == 1 && inner == 2:
		// to be dropped, or to be marked ECT(1) (RFC 6040, section 4.2)
		return left(to.Link, "ecn", frame)
	case gso != 0 || h.v6 != src.Is6() && m.alike:
		return left(to.Link, "kernel", frame) // of an aggregate that it does not know the kind of
	}
	out := slices.Concat(to.MAC.Bytes(), to.PortMAC.Bytes(), frame[size-2:])
	if outer == 3 {
		congested(out[14:])
	}
	age(out[14:])
	return verdict{code: redirect, path: "received", who: to.Link, out: out}
}

// tunnelSource reports whether a UDP header's source port is one of a tunnel's.
func tunnelSource(udp []byte) bool {
	port := binary.BigEndian.Uint16(udp)
	return port >= heddle.TunnelSourceLow && port < heddle.TunnelSourceEnd
}

// header reads what counts of an outer IP header: source, length with the header, ECN.
func header(b []byte) (src netip.Addr, length int, ecn byte) {
	if front(b) == front6 {
		return addr(b[22:38]), 40 + int(binary.BigEndian.Uint16(b[18:])), b[15] >> 4 & 3
	}
	return addr(b[26:30]), int(binary.BigEndian.Uint16(b[16:])), b[15] & 3
}

// ours tells VXLAN for this host, with room for an inner frame, from all else.
func (m model) ours(b []byte) bool {
	if len(b) < front(b) || mac(b) != m.own {
		return false
	}
	switch binary.BigEndian.Uint16(b[12:]) {
	case 0x0800:
		if b[14] != 0x45 || b[23] != 17 || binary.BigEndian.Uint16(b[20:])&0xbfff != 0 || addr(b[30:34]) != m.wire.Local {
			return false
		}
	case 0x86dd:
		if b[14]>>4 != 6 || b[20] != 17 || addr(b[38:54]) != m.wire.Local6 {
			return false
		}
	default:
		return false
	}
	udp := b[front(b)-behind:]
	return binary.BigEndian.Uint16(udp[2:]) == m.wire.Port && binary.BigEndian.Uint32(udp[8:]) == 0x08000000 && binary.BigEndian.Uint32(udp[12:]) == m.wire.VNI<<8
}

// age takes one off the TTL of an IP packet, congested marks it (RFC 3168); an IPv4
// header's checksum changes with it (RFC 1624).
func age(b []byte) {
	if b[0]>>4 == 6 {
		b[7]--
		return
	}
	amend(b, 8, func(w uint16) uint16 { return w - 0x100 })
}

func congested(b []byte) {
	if b[0]>>4 == 6 {
		b[1] |= 0x30
		return
	}
	amend(b, 0, func(w uint16) uint16 { return w | 3 })
}

func amend(b []byte, at int, change func(uint16) uint16) {
	old := binary.BigEndian.Uint16(b[at:])
	fresh := change(old)
	sum := uint32(^binary.BigEndian.Uint16(b[10:])) + uint32(^old) + uint32(fresh)
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	binary.BigEndian.PutUint16(b[at:], fresh)
	binary.BigEndian.PutUint16(b[10:], ^uint16(sum))
}
