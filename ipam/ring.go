package ipam

import (
	"net/netip"

	"github.com/heddle-network/heddle"
)

// ring visits the addresses of a family's ranges once around, from its start address. It holds a
// position and no list, so a /64 costs as little as a /28.
//
//	first range        second range
//	|.......^----------|--------------|
//	        start → at →              ↩ and from the first up to start
type ring struct {
	spans []span
	start netip.Addr
	at    netip.Addr
	// in is the index of the span that holds at.
	in   int
	done bool
}

// span is a run of addresses, both ends included.
type span struct{ first, last netip.Addr }

func (s span) has(a netip.Addr) bool {
	return s.first.Compare(a) <= 0 && a.Compare(s.last) <= 0
}

func newRing(prefixes []netip.Prefix) ring {
	var r ring
	for _, p := range prefixes {
		r.spans = append(r.spans, span{p.Masked().Addr(), heddle.LastAddr(p)})
	}
	r.done = len(r.spans) == 0
	if !r.done {
		r.restart(r.spans[0].first)
	}
	return r
}

// find returns the index of the span with the address, or -1. Its cost grows with the number of
// ranges; a network has few.
func (r *ring) find(a netip.Addr) int {
	for i, s := range r.spans {
		if s.has(a) {
			return i
		}
	}
	return -1
}

// restart begins a new round at a. It does nothing if a is outside the ranges.
func (r *ring) restart(a netip.Addr) {
	if i := r.find(a); i >= 0 {
		r.in, r.at, r.start, r.done = i, a, a, false
	}
}

// step moves to the next address. When it is back at the start, the round is done.
func (r *ring) step() {
	if r.at == r.spans[r.in].last {
		r.in = (r.in + 1) % len(r.spans)
		r.at = r.spans[r.in].first
	} else {
		r.at = r.at.Next()
	}
	r.done = r.at == r.start
}
