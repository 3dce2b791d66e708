package policy

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// The EtherTypes of IP.
const etherIPv4, etherIPv6 = 0x0800, 0x86dd

// Why the rules for all ports drop a packet before a policy is asked (package firewall, known-out and known-in).
const (
	notIP       = "it is neither IP nor ARP"
	cutShort    = "its header is cut short"
	odd         = "behind IP options or further IPv6 headers no rule finds the ports"
	laterPiece  = "it is the rest of a datagram whose first piece did not pass"
	strayError  = "it is an error about no packet of a known flow"
	decidedElse = "the rules have changed since"
)

// further are the IPv6 headers, a second one of a fragment among them, behind which the rules do not look.
var further = []byte{0, 43, 44, 51, 60, 135, 139, 140}

// packet is what the rules find in a packet, where they look for it.
type packet struct {
	flow heddle.Flow
	conn Connection
	// dropped says why no policy is asked; "" if one is.
	dropped string
}

// readPacket reads the beginning of a packet, which may be anything.
func readPacket(ether uint16, b []byte) (p packet) {
	var proto byte
	var rest []byte
	family := 0
	switch {
	case ether == etherIPv4 && len(b) >= 20:
		proto, rest = b[9], b[20:]
		p.flow.Bytes = int(binary.BigEndian.Uint16(b[2:]))
		p.conn.Src, p.conn.Dst = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
		if b[0]&0xf != 5 {
			p.dropped, rest = odd, nil
		} else if binary.BigEndian.Uint16(b[6:])&0x1fff != 0 {
			p.dropped, rest = laterPiece, nil
		}
	case ether == etherIPv6 && len(b) >= 40:
		family, proto, rest = 1, b[6], b[40:]
		p.flow.Bytes = 40 + int(binary.BigEndian.Uint16(b[4:]))
		p.conn.Src, p.conn.Dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
		if proto == 44 && len(rest) >= 8 {
			if binary.BigEndian.Uint16(rest[2:])&0xfff8 != 0 {
				p.dropped = laterPiece
			}
			proto, rest = rest[0], rest[8:]
		}
		if slices.Contains(further, proto) {
			p.dropped = odd
		}
		if p.dropped != "" {
			rest = nil
		}
	default:
		p.flow.Protocol, p.dropped = fmt.Sprintf("%#04x", ether), notIP
		if ether == etherIPv4 || ether == etherIPv6 {
			p.dropped = cutShort
		}
		return p
	}
	p.flow.Src, p.flow.Dst = p.conn.Src, p.conn.Dst
	p.transport(family, proto, rest)
	return p
}

// transport reads the header of a protocol; family 0 is IPv4, 1 IPv6.
func (p *packet) transport(family int, proto byte, b []byte) {
	p.conn.Protocol = strconv.Itoa(int(proto))
	for name, number := range protocolNumbers {
		if number == p.conn.Protocol {
			p.conn.Protocol = name
		}
	}
	switch {
	case proto == []byte{1, 58}[family]:
		p.conn.Protocol = "icmp"
		if len(b) > 0 {
			p.conn.Type = typeName(family, b[0])
			if isError(family, b[0]) {
				p.dropped = strayError
			}
		}
	case protocolNumbers[p.conn.Protocol] != "" && len(b) >= 4:
		p.flow.SrcPort, p.conn.Port = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	}
	p.flow.Protocol, p.flow.DstPort, p.flow.Type = p.conn.Protocol, p.conn.Port, p.conn.Type
}

// isError reports whether a type of ICMP is an error's: of RFC 792, or not informational (RFC 4443, 2.1).
func isError(family int, number byte) bool {
	return family == 0 && slices.Contains([]byte{3, 4, 5, 11, 12}, number) || family == 1 && number < 128
}

func typeName(family int, number byte) string {
	for name, numbers := range icmpTypes {
		if numbers[family] == int(number) {
			return name
		}
	}
	return strconv.Itoa(int(number))
}

// maxKept is of how many rules Refusals keeps what it has read.
const maxKept = 1 << 16

// Refusals says which rule has refused a packet. It keeps the rules that it has read, as reading some thousands for each packet of a flood would take
// a processor. One goroutine may use it at a time.
type Refusals struct {
	all     Policies
	members []Member
	// read are policies by names and direction, with kept rules altogether.
	read map[string]closing
	kept int
}

// NewRefusals is about the policies and the endpoints of a host.
func NewRefusals(all Policies, members []Member) *Refusals {
	return &Refusals{all: all, members: members, read: map[string]closing{}}
}

func (r *Refusals) closing(names []string, d Direction) closing {
	key := string(d) + " " + strings.Join(names, " ")
	c, known := r.read[key]
	if !known {
		c = r.all.closing(names, d)
		if r.kept += len(c.rules); r.kept > maxKept {
			clear(r.read)
			r.kept = len(c.rules)
		}
		r.read[key] = c
	}
	return c
}

// Flow is what a port has refused, and which rule did. M is the port's endpoint; frame is the beginning of the packet, without the header of Ethernet.
func (r *Refusals) Flow(m Member, d Direction, ether uint16, frame []byte) heddle.Flow {
	p := readPacket(ether, frame)
	other := p.conn.Src
	if d == Egress {
		other = p.conn.Dst
	}
	s := r.closing(r.all.closedBy(m, d), d).step(r.members, m, d, other, p.conn)
	f := p.flow
	f.Direction, f.Policies = string(d), s.Policies
	switch {
	case p.dropped != "":
		f.Why = p.dropped
	case s.Allowed:
		f.Why = decidedElse
	default:
		f.Policy, f.Rule, f.Why = s.Policy, s.Rule, s.Why()
	}
	return f
}
