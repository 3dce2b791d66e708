package bpf_test

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// model says what the programs must do, in the order in which they look.
type model struct {
	places    map[netip.Prefix]heddle.Shortcut
	remotes   map[netip.Addr]heddle.Remote
	index     map[string]int
	wire      heddle.Wire
	own, next heddle.MAC // of the way to the peer that is known
	alike     bool       // the kernel takes a tunnel off packets of its own family only (before Linux 6.4)
}

// verdict is what becomes of a packet: carried by a path, or left for a reason, and
// whose that is ("" nobody's). A packet that is none of ours has neither.
type verdict struct {
	code       int
	path, miss string
	who        string
	out        []byte // id, checksum and source port of outer headers are 0
}

func left(who, reason string, frame []byte) verdict {
	return verdict{code: next, miss: reason, who: who, out: frame}
}

// headers is what counts of a packet.
type headers struct {
	src, dst     netip.Addr
	length, size int
	ttl, tos     byte
	v6           bool
}

// read reads an IP packet; it returns a reason if it is not for the fast path.
func read(kind uint16, b []byte) (h headers, reason string) {
	var proto byte
	var l4 []byte
	switch {
	case kind == 0x0800 && len(b) < 20, kind == 0x86dd && len(b) < 40:
		return h, "length"
	case kind == 0x0800:
		if b[0] != 0x45 {
			return h, "options"
		}
		if binary.BigEndian.Uint16(b[6:])&0xbfff != 0 {
			return h, "fragment"
		}
		h = headers{src: addr(b[12:16]), dst: addr(b[16:20]), length: int(binary.BigEndian.Uint16(b[2:])), size: 20, ttl: b[8], tos: b[1]}
		proto, l4 = b[9], b[20:]
		if proto == 58 {
			return h, "protocol"
		}
	case kind == 0x86dd:
		if b[0]>>4 != 6 {
			return h, "options"
		}
		proto, l4 = b[6], b[40:]
		if proto == 44 {
			return h, "fragment"
		}
		if proto != 6 && proto != 17 && proto != 58 {
			return h, "options"
		}
		h = headers{src: addr(b[8:24]), dst: addr(b[24:40]), length: 40 + int(binary.BigEndian.Uint16(b[4:])), size: 40, ttl: b[7], tos: b[0]<<4 | b[1]>>4, v6: true}
	default:
		return h, "protocol"
	}
	return h, h.transport(proto, l4)
}

func (h *headers) transport(proto byte, l4 []byte) (reason string) {
	if proto == 6 && len(l4) < 20 || len(l4) < 8 {
		return "length"
	}
	switch {
	case proto == 6:
		h.size += int(l4[12]>>4) * 4
		return ""
	case proto == 17 && !slices.Contains([]uint16{67, 68, 546, 547}, binary.BigEndian.Uint16(l4[2:])),
		!h.v6 && proto == 1 && (l4[0] == 8 || l4[0] == 0),
		h.v6 && proto == 58 && (l4[0] == 128 || l4[0] == 129):
		h.size += 8
		return ""
	}
	return "protocol"
}

func addr(b []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(b)
	return a
}

// at finds the place of an address: its own, or that of the block.
func (m model) at(a netip.Addr, bits int) (heddle.Shortcut, bool) {
	s, ok := m.places[heddle.Single(a)]
	if p, err := a.Prefix(bits); !ok && err == nil {
		s, ok = m.places[p]
	}
	return s, ok
}

func (h headers) fits(gso, mtu int) bool {
	if gso != 0 {
		return gso+h.size <= mtu
	}
	return h.length <= mtu
}

// port is what from_port does.
func (m model) port(link string, gso int, frame []byte) verdict {
	kind := binary.BigEndian.Uint16(frame[12:])
	if v, handed := m.neighbour(link, gso, frame); handed {
		return v
	}
	h, reason := read(kind, frame[14:])
	if reason != "" {
		return left("", reason, frame)
	}
	from, ok := m.places[heddle.Single(h.src)]
	if !ok || from.Link != link || mac(frame[6:]) != from.MAC {
		return left("", "source", frame)
	}
	if gso == 0 && h.length != len(frame)-14 {
		return left(link, "length", frame)
	}
	to, ok := m.at(h.dst, from.BlockBits)
	switch {
	case !ok || to.Link == "" && !to.Peer.IsValid():
		return left(link, "destination", frame)
	case to.Group != from.Group:
		return left(link, "network", frame)
	case to.Link == from.Link:
		return left(link, "destination", frame)
	case to.Link != "":
		return m.deliver(h, gso, from, to, frame)
	}
	return m.dispatch(h, gso, from, to, frame)
}

func (m model) deliver(h headers, gso int, from, to heddle.Shortcut, frame []byte) verdict {
	out := slices.Clone(frame)
	switch {
	case !h.fits(gso, to.MTU):
		return left(from.Link, "mtu", frame)
	case from.Bridged && mac(frame) != to.MAC, !from.Bridged && mac(frame) != from.PortMAC:
		return left(from.Link, "link", frame)
	case !from.Bridged && h.ttl <= 1:
		return left(from.Link, "ttl", frame)
	case !from.Bridged:
		copy(out, to.MAC.Bytes())
		copy(out[6:], to.PortMAC.Bytes())
		age(out[14:])
	}
	return verdict{code: redirect, path: "local", who: from.Link, out: out}
}

func (m model) dispatch(h headers, gso int, from, to heddle.Shortcut, frame []byte) verdict {
	r := m.remotes[to.Peer]
	switch {
	case mac(frame) != from.PortMAC:
		return left(from.Link, "link", frame)
	case h.ttl <= 1:
		return left(from.Link, "ttl", frame)
	case !h.fits(gso, r.MTU):
		return left(from.Link, "mtu", frame)
	case to.Peer == dark:
		return left(from.Link, "neighbour", frame)
	case gso != 0:
		return left(from.Link, "kernel", frame) // of an aggregate that it does not know the kind of
	}
	ecn := h.tos & 3
	if ecn == 3 {
		ecn = 2
	}
	inner := slices.Clone(frame)
	copy(inner, r.MAC.Bytes())
	copy(inner[6:], r.OwnMAC.Bytes())
	age(inner[14:])
	return verdict{code: redirect, path: "sent", who: from.Link, out: slices.Concat(m.next.Bytes(), m.own.Bytes(), outer(ecn, r, len(inner)), inner)}
}

// outer is what stands between the MAC addresses and an inner frame: IP, UDP and
// VXLAN (RFC 7348, section 5), as the kernel's device writes them; over IPv6 without
// a checksum (RFC 6935).
func outer(ecn byte, r heddle.Remote, inner int) []byte {
	b := binary.BigEndian.AppendUint16([]byte{8, 0, 0x45, ecn}, uint16(20+8+8+inner))
	b = append(b, 0, 0, 0, 0, 64, 17, 0, 0)
	if r.Addr.Is6() {
		b = binary.BigEndian.AppendUint16([]byte{0x86, 0xdd, 0x60, ecn << 4, 0, 0}, uint16(8+8+inner))
		b = append(b, 17, 64)
	}
	b = append(append(b, r.Local.AsSlice()...), r.Addr.AsSlice()...)
	b = binary.BigEndian.AppendUint16(append(b, 0, 0), r.Port)
	b = binary.BigEndian.AppendUint16(b, uint16(8+8+inner))
	return binary.BigEndian.AppendUint32(append(b, 0, 0, 8, 0, 0, 0), r.VNI<<8)
}

func mac(b []byte) heddle.MAC { return heddle.MAC(net.HardwareAddr(b[:6]).String()) }
