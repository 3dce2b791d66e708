package netavark

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// addTo adds a subnet with its gateway and the addresses to give out.
func (s subnet) addTo(n *heddle.Network) error {
	if !s.Subnet.IsValid() {
		return heddle.Errorf(heddle.BadSubnet, "create network", n.Name, "one of its subnets has no prefix", "give --subnet such as 10.20.0.0/24")
	}
	n.Subnets = append(n.Subnets, s.Subnet)
	if s.Gateway.IsValid() {
		n.Gateways = append(n.Gateways, s.Gateway.Unmap())
	}
	if s.Lease == nil || !s.Lease.First.IsValid() && !s.Lease.Last.IsValid() {
		return nil
	}
	first, last := s.Lease.First, s.Lease.Last
	if !first.IsValid() {
		first = s.Subnet.Masked().Addr()
	}
	if !last.IsValid() {
		last = lastOf(s.Subnet)
	}
	if !s.Subnet.Contains(first) || !s.Subnet.Contains(last) || last.Less(first) {
		return heddle.Errorf(heddle.BadSubnet, "create network", n.Name,
			fmt.Sprintf("its range from %s to %s is not in the subnet %s", first, last, s.Subnet), "give --ip-range inside --subnet")
	}
	// a range that was given as a prefix begins with the prefix's second address in Podman
	if before := first.Prev(); first != last && s.Subnet.Contains(before) && len(prefixes(before, last)) == 1 {
		if before != s.Subnet.Masked().Addr() { // which is given out in no case
			n.Reserved = append(n.Reserved, before)
		}
		first = before
	}
	n.Ranges = append(n.Ranges, prefixes(first, last)...)
	return nil
}

// prefixes are the fewest that have the addresses from first to last.
func prefixes(first, last netip.Addr) (all []netip.Prefix) {
	for first.IsValid() && !last.Less(first) {
		p := netip.PrefixFrom(first, first.BitLen())
		for p.Bits() > 0 {
			wider := netip.PrefixFrom(first, p.Bits()-1)
			if wider.Masked().Addr() != first || last.Less(lastOf(wider)) {
				break
			}
			p = wider
		}
		all = append(all, p)
		first = lastOf(p).Next()
	}
	return all
}

// lastOf is the last address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	a, _ := netip.AddrFromSlice(bytes)
	return a
}
