package bpf_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// about is what counts of a frame that asks for a neighbour's MAC address, or answers.
type about struct {
	src, target netip.Addr
	option      []byte // the MAC address that the sender says is its own; nil if it says none
	asks        bool
}

// neighbour hands a frame that asks for a neighbour's MAC address, or answers, over to the one whom it is about, if both are on one
// bridge, and the sender is who it says.
func (m model) neighbour(link string, gso int, frame []byte) (v verdict, handed bool) {
	a, is := readNeighbour(frame)
	if !is || gso != 0 {
		return v, false
	}
	from, to := m.places[heddle.Single(a.src)], m.places[heddle.Single(a.target)]
	own := from.MAC.Bytes()
	if !from.Bridged || from.Link != link || !bytes.Equal(frame[6:12], own) || a.option != nil && !bytes.Equal(a.option, own) ||
		!to.Bridged || to.Link == link || to.Group != from.Group || len(frame)-14 > to.MTU {
		return v, false
	}
	toAll := bytes.Equal(frame[:6], bytes.Repeat([]byte{0xff}, 6))
	if a.src.Is6() {
		toAll = bytes.Equal(frame[:3], []byte{0x33, 0x33, 0xff})
	}
	if !(toAll && a.asks) && mac(frame) != to.MAC {
		return v, false
	}
	out := slices.Clone(frame)
	copy(out, to.MAC.Bytes())
	return verdict{code: redirect, path: "local", who: link, out: out}, true
}

// readNeighbour reads ARP (RFC 826) and neighbour discovery (RFC 4861).
func readNeighbour(frame []byte) (a about, is bool) {
	b := frame[14:]
	switch kind := binary.BigEndian.Uint16(frame[12:]); {
	case kind == 0x0806 && len(b) >= 28 && bytes.Equal(b[:6], []byte{0, 1, 8, 0, 6, 4}) && b[6] == 0 && (b[7] == 1 || b[7] == 2):
		return about{src: addr(b[14:18]), target: addr(b[24:28]), option: b[8:14], asks: b[7] == 1}, true
	case kind != 0x86dd || len(b) < 64 || b[0]>>4 != 6 || b[6] != 58 || b[7] != 255 || b[41] != 0 || int(binary.BigEndian.Uint16(b[4:])) != len(b)-40:
		return a, false
	case b[40] == 135:
		a = about{src: addr(b[8:24]), target: addr(b[48:64]), asks: true}
	case b[40] == 136 && bytes.Equal(b[8:24], b[48:64]):
		a = about{src: addr(b[8:24]), target: addr(b[24:40])}
	default:
		return a, false
	}
	if len(b) == 72 && b[64] == map[bool]byte{true: 1, false: 2}[a.asks] && b[65] == 1 {
		a.option = b[66:72]
	} else if len(b) != 64 {
		return a, false
	}
	return a, true
}
