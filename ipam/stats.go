package ipam

import (
	"encoding/binary"
	"maps"
	"math"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// Stats counts the addresses of one family. Size is the sum of Used, Quarantined and Free, except
// that Size and Free cannot exceed the largest uint64, which a /64 reaches.
type Stats struct {
	Family heddle.Family `json:"family"`
	// Size counts the addresses that are given out without a request for them.
	Size uint64 `json:"size"`
	Used uint64 `json:"used"`
	// Quarantined counts the addresses that were freed a short while ago. In a subnet as large as a
	// /64 it is exact up to 65,536.
	Quarantined uint64 `json:"quarantined"`
	Free        uint64 `json:"free"`
	// Aside counts the leases of addresses that are not in Size, and were requested: reserved ones,
	// and those outside the ranges.
	Aside uint64 `json:"aside"`
}

// Stats counts the addresses of each family. Its cost grows with the number of addresses in
// quarantine.
func (p *Pool) Stats() []Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Stats
	for _, l := range p.families {
		s := l.stats()
		s.rest(l.freed.freedAfter(p.now().Add(-p.quarantine)))
		all = append(all, s)
	}
	return all
}

// rest counts some of the free addresses as quarantined.
func (s *Stats) rest(quarantined uint64) {
	s.Quarantined = quarantined
	if s.Free != math.MaxUint64 {
		s.Free -= quarantined
	}
}

// stats counts without regard to quarantine.
func (l *familyPool) stats() Stats {
	s := Stats{Family: l.family(), Size: l.size, Aside: l.heldOnRequest}
	s.Used = l.held.count - l.heldOnRequest
	s.Free = s.Size
	if s.Size != math.MaxUint64 {
		s.Free -= s.Used
	}
	return s
}

// count returns how many addresses the pool gives out without a request for them.
func (l *familyPool) count() uint64 {
	var sum uint64
	for _, s := range l.ring.spans {
		if s.count() >= math.MaxUint64-sum {
			return math.MaxUint64
		}
		sum += s.count()
	}
	return sum - l.countUnavailable()
}

func (l *familyPool) countUnavailable() uint64 {
	barred := maps.Clone(l.reserved)
	for _, a := range []netip.Addr{l.gateway, l.subnet.Addr(), heddle.LastAddr(l.subnet)} {
		barred[a] = true
	}
	for a := range l.setAside {
		barred[a] = true
	}
	var count uint64
	for a := range barred {
		if l.unavailable(a) && l.ring.find(a) >= 0 {
			count++
		}
	}
	return count
}

func (s span) count() uint64 {
	first, last := s.first.As16(), s.last.As16()
	if [8]byte(first[:8]) != [8]byte(last[:8]) {
		return math.MaxUint64
	}
	n := binary.BigEndian.Uint64(last[8:]) - binary.BigEndian.Uint64(first[8:])
	return max(n, n+1)
}
