package ping

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/heddle-network/heddle"
)

// probe is what all echoes of a ping have in common. ID and mark are drawn, so that echoes of others are not taken for ours, and nobody who
// does not see our packets can forge an answer.
type probe struct {
	to   netip.Addr
	id   uint16
	mark [8]byte
	size int
}

func newProbe(to netip.Addr, size int) probe {
	p := probe{to: to, size: size}
	var random [2]byte
	rand.Read(random[:]) // never fails
	rand.Read(p.mark[:])
	p.id = binary.BigEndian.Uint16(random[:])
	return p
}

func (p probe) family() heddle.Family { return heddle.FamilyOf(p.to) }

// payload is the mark, over and over.
func (p probe) payload() []byte {
	return bytes.Repeat(p.mark[:], p.size/len(p.mark)+1)[:p.size]
}

// request is the message of an echo. The kernel adds the checksum of ICMPv6.
func (p probe) request(seq uint16) ([]byte, error) {
	var kind icmp.Type = ipv6.ICMPTypeEchoRequest
	if p.family() == heddle.IPv4 {
		kind = ipv4.ICMPTypeEcho
	}
	return (&icmp.Message{Type: kind, Body: &icmp.Echo{ID: int(p.id), Seq: int(seq), Data: p.payload()}}).Marshal(nil)
}

// read reads a message that has arrived, which may be anything; false if it does not answer the echo of that number.
func (p probe) read(b []byte, from netip.Addr, seq uint16) (e Echo, ours bool) {
	if len(b) < headerICMP {
		return e, false
	}
	if p.isReply(b) {
		ours = from == p.to && p.isEcho(b, seq) && bytes.Equal(b[headerICMP:], p.payload())
		return Echo{Outcome: Reply, From: from, Bytes: len(b)}, ours
	}
	e, told := fault(p.family(), b)
	if !told {
		return e, false
	}
	e.From, e.Bytes = from, headerICMP+p.size
	return e, p.quoted(b[headerICMP:], seq)
}

func (p probe) isReply(b []byte) bool {
	if p.family() == heddle.IPv4 {
		return ipv4.ICMPType(b[0]) == ipv4.ICMPTypeEchoReply
	}
	return ipv6.ICMPType(b[0]) == ipv6.ICMPTypeEchoReply
}

func (p probe) isEcho(b []byte, seq uint16) bool {
	return binary.BigEndian.Uint16(b[4:]) == p.id && binary.BigEndian.Uint16(b[6:]) == seq
}

// quoted reports whether an error quotes the echo of that number. Routers quote 8 bytes behind the IP header at least, so the mark may be
// missing (RFC 792).
func (p probe) quoted(b []byte, seq uint16) bool {
	var to netip.Addr
	if p.family() == heddle.IPv4 {
		h, err := icmp.ParseIPv4Header(b)
		if err != nil || h.Protocol != 1 || len(b) < h.Len+headerICMP {
			return false
		}
		to, _ = netip.AddrFromSlice(h.Dst.To4())
		b = b[h.Len:]
		if ipv4.ICMPType(b[0]) != ipv4.ICMPTypeEcho {
			return false
		}
	} else {
		h, err := ipv6.ParseHeader(b)
		if err != nil || h.NextHeader != 58 || len(b) < ipv6.HeaderLen+headerICMP {
			return false
		}
		to, _ = netip.AddrFromSlice(h.Dst)
		b = b[ipv6.HeaderLen:]
		if ipv6.ICMPType(b[0]) != ipv6.ICMPTypeEchoRequest {
			return false
		}
	}
	rest := b[headerICMP:]
	rest = rest[:min(len(rest), len(p.mark), p.size)]
	return to == p.to && p.isEcho(b, seq) && bytes.HasPrefix(p.mark[:], rest)
}
