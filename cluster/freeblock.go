package cluster

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// freeBlock returns a free block of the subnet: the first one, or the first one after the position
// that draw returns. In a network with ranges, only blocks that overlap them count. Besides blocks
// outside the ranges, it examines at most one block more than are taken.
func freeBlock(n heddle.Network, subnet netip.Prefix, taken map[netip.Prefix]bool, draw func(int) int) (netip.Prefix, bool) {
	subnet = subnet.Masked()
	bits := max(subnet.Bits(), heddle.BlockBits(subnet))
	count := 1 << (bits - subnet.Bits())
	first := 0
	if draw != nil {
		first = draw(count)
	}
	ranges := slices.DeleteFunc(slices.Clone(n.Ranges), func(r netip.Prefix) bool { return !subnet.Overlaps(r) })
	for i := range count {
		b := nthBlock(subnet, bits, (first+i)%count)
		if !taken[b] && (len(ranges) == 0 || slices.ContainsFunc(ranges, b.Overlaps)) {
			return b, true
		}
	}
	return netip.Prefix{}, false
}

// nthBlock is the i-th part of the subnet with that prefix length.
func nthBlock(subnet netip.Prefix, bits, i int) netip.Prefix {
	b := subnet.Addr().AsSlice()
	for at := bits - 1; i != 0; at, i = at-1, i>>1 {
		if i&1 != 0 {
			b[at/8] |= 0x80 >> (at % 8)
		}
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.PrefixFrom(a, bits)
}
