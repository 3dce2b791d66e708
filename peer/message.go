package peer

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// message is what an ICMP packet reports about a packet to a peer.
type message struct {
	peer netip.Addr
	// ours says that the message is about a probe; seq is the number of the probe.
	ours bool
	seq  uint16
	// mtu is what a router carries (0: it does not say); it is -1 for an answer.
	mtu int
}

// receive takes answers until the socket is closed.
func (p *Peers) receive(e *prober) {
	buffer := make([]byte, 512)
	for {
		n, from, err := e.conn.ReadFromIP(buffer)
		if err != nil {
			select {
			case <-p.done:
				return
			default:
			}
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // about an earlier packet
		}
		a, _ := netip.AddrFromSlice(from.IP)
		m, ok := e.read(buffer[:n], a.Unmap())
		switch {
		case !ok:
		case m.ours:
			p.answered(m)
		default:
			p.recheckPath(m)
		}
	}
}

// read parses a packet. ok is false if it has no meaning for the probes.
func (e *prober) read(b []byte, from netip.Addr) (m message, ok bool) {
	if len(b) < 8 {
		return m, false
	}
	if e.local.Is4() {
		switch ipv4.ICMPType(b[0]) {
		case ipv4.ICMPTypeEchoReply:
			return e.reply(b, from)
		case ipv4.ICMPTypeDestinationUnreachable:
			const fragmentationNeeded = 4 // RFC 1191
			if b[1] == fragmentationNeeded {
				return e.quoted4(b[8:], int(binary.BigEndian.Uint16(b[6:])))
			}
		}
		return m, false
	}
	switch ipv6.ICMPType(b[0]) {
	case ipv6.ICMPTypeEchoReply:
		return e.reply(b, from)
	case ipv6.ICMPTypePacketTooBig:
		return e.quoted6(b[8:], int(binary.BigEndian.Uint32(b[4:])))
	}
	return m, false
}

func (e *prober) reply(b []byte, from netip.Addr) (message, bool) {
	m := message{peer: from, ours: true, seq: binary.BigEndian.Uint16(b[6:]), mtu: -1}
	return m, e.isOurs(b)
}

// isOurs says whether an echo is one of ours.
func (e *prober) isOurs(b []byte) bool {
	return len(b) >= 16 && binary.BigEndian.Uint16(b[4:]) == e.id && [8]byte(b[8:16]) == e.mark
}

// quoted4 reads the packet that a router quotes, with at least 8 bytes of its payload.
func (e *prober) quoted4(b []byte, mtu int) (m message, ok bool) {
	h, err := icmp.ParseIPv4Header(b)
	if err != nil || len(b) < h.Len+8 {
		return m, false
	}
	src, _ := netip.AddrFromSlice(h.Src.To4())
	m.peer, _ = netip.AddrFromSlice(h.Dst.To4())
	m.mtu = mtu
	rest := b[h.Len:]
	if h.Protocol == 1 && ipv4.ICMPType(rest[0]) == ipv4.ICMPTypeEcho {
		m.ours, m.seq = e.sentBy(rest), binary.BigEndian.Uint16(rest[6:])
	}
	return m, src == e.local
}

func (e *prober) quoted6(b []byte, mtu int) (m message, ok bool) {
	h, err := ipv6.ParseHeader(b)
	if err != nil || len(b) < ipv6.HeaderLen+8 {
		return m, false
	}
	src, _ := netip.AddrFromSlice(h.Src)
	m.peer, _ = netip.AddrFromSlice(h.Dst)
	m.mtu = mtu
	rest := b[ipv6.HeaderLen:]
	if h.NextHeader == 58 && ipv6.ICMPType(rest[0]) == ipv6.ICMPTypeEchoRequest {
		m.ours, m.seq = e.sentBy(rest), binary.BigEndian.Uint16(rest[6:])
	}
	return m, src == e.local
}

// sentBy reports whether a quoted echo request is ours. Routers that quote only 8 bytes leave the
// mark out.
func (e *prober) sentBy(b []byte) bool {
	return binary.BigEndian.Uint16(b[4:]) == e.id && (len(b) < 16 || [8]byte(b[8:16]) == e.mark)
}
