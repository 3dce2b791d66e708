package bpf_test

import (
	"encoding/binary"
	"slices"
)

// overhead is what VXLAN puts before an inner IP packet, with the outer Ethernet
// header.
const overhead = 14 + 20 + 8 + 8 + 14

// arrive is what from_wire does.
func (m model) arrive(gso int, frame []byte) verdict {
	if !m.ours(frame) {
		return verdict{code: next, out: frame}
	}
	h, reason := read(binary.BigEndian.Uint16(frame[overhead-2:]), frame[overhead:])
	if reason != "" {
		return left("", reason, frame)
	}
	if mac(frame[50:]) != m.wire.MAC || binary.BigEndian.Uint16(frame[40:]) != 0 {
		return left("", "link", frame)
	}
	if gso == 0 && (h.length != len(frame)-overhead || binary.BigEndian.Uint16(frame[16:]) != uint16(len(frame)-14) || binary.BigEndian.Uint16(frame[38:]) != uint16(len(frame)-34)) {
		return left("", "length", frame)
	}
	to, ok := m.at(h.dst, h.dst.BitLen())
	if !ok || to.Link == "" || to.Bridged {
		return left("", "destination", frame)
	}
	from, ok := m.at(h.src, to.BlockBits)
	_, known := m.remotes[from.Peer]
	outer, inner := frame[15]&3, h.tos&3
	switch {
	case !ok || from.Group != to.Group || !known || from.Peer != addr(frame[26:30]):
		return left(to.Link, "peer", frame)
	case !h.fits(gso, to.MTU):
		return left(to.Link, "mtu", frame)
	case h.ttl <= 1:
		return left(to.Link, "ttl", frame)
	case outer == 3 && inner == 0, outer == 1 && inner == 2:
		// to be dropped, or to be marked ECT(1) (RFC 6040, section 4.2)
		return left(to.Link, "ecn", frame)
	case gso != 0 || h.v6 && m.only4:
		return left(to.Link, "kernel", frame) // of an aggregate that it does not know the kind of
	}
	out := slices.Concat(to.MAC.Bytes(), to.PortMAC.Bytes(), frame[overhead-2:])
	if outer == 3 {
		congested(out[14:])
	}
	age(out[14:])
	return verdict{code: redirect, path: "received", who: to.Link, out: out}
}

// ours tells VXLAN for this host, with room for an inner frame, from all else.
func (m model) ours(b []byte) bool {
	return len(b) >= overhead && mac(b) == m.own && binary.BigEndian.Uint16(b[12:]) == 0x0800 && b[14] == 0x45 && b[23] == 17 &&
		binary.BigEndian.Uint16(b[20:])&0xbfff == 0 && addr(b[30:34]) == m.wire.Local && binary.BigEndian.Uint16(b[36:]) == m.wire.Port &&
		binary.BigEndian.Uint32(b[42:]) == 0x08000000 && binary.BigEndian.Uint32(b[46:]) == m.wire.VNI<<8
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
