package eni

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// A set of further addresses is an IPv4 address that the cloud has chosen and, where the subnet has IPv6, the IPv6 address that goes with it. That one is
// made from it: so nobody has to remember which are a set, and an address that is asked for again is the same one.

// partnerMark is in the IPv6 addresses that go with IPv4 addresses, between the subnet's prefix and the IPv4 address.
var partnerMark = [4]byte{'h', 'e', 'd', 'd'}

// partnerBits is the longest IPv6 prefix with room for partnerMark and an IPv4 address. Subnets of clouds have /64.
const partnerBits = 64

// partner is the IPv6 address of a subnet that goes with an IPv4 address.
func (s Subnet) partner(a netip.Addr) netip.Addr {
	bytes := s.V6.Masked().Addr().As16()
	copy(bytes[8:], partnerMark[:])
	copy(bytes[12:], a.AsSlice())
	return netip.AddrFrom16(bytes)
}

// origin is the IPv4 address with which an IPv6 address goes; the zero value if it goes with none.
func origin(a netip.Addr) netip.Addr {
	bytes := a.As16()
	if !a.Is6() || [4]byte(bytes[8:12]) != partnerMark {
		return netip.Addr{}
	}
	return netip.AddrFrom4([4]byte(bytes[12:]))
}

// single is an address as a prefix of one address.
func single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// singles is single for several.
func singles(all []netip.Addr) (out []netip.Prefix) {
	for _, a := range all {
		out = append(out, single(a))
	}
	return out
}

// further are addresses that a NIC has besides the first ones: whole sets, IPv4 addresses whose IPv6 address is missing, and IPv4 prefixes whose addresses are in
// sets, in order. halves are IPv4 prefixes that are in none, since the NIC has no IPv6 prefix.
type further struct {
	whole          [][]netip.Prefix
	half           []netip.Addr
	blocks, halves []netip.Prefix
	// six is the NIC's IPv6 prefix; the zero value if it has none.
	six netip.Prefix
	// fours and sixes are how many addresses and prefixes of each family count against what a NIC may have, besides the first ones.
	fours, sixes int
}

// furtherOf are the further addresses of a NIC: those that are listed, but for changes that the list may not have yet. What the subnet cannot have given is
// left out.
func furtherOf(n NIC, at Subnet, paired bool, lately map[netip.Prefix]change, now time.Time) (f further) {
	has := map[netip.Prefix]bool{}
	for _, a := range slices.Concat(n.Fours, n.Sixes) {
		has[single(a)] = true
	}
	for _, b := range n.Blocks {
		has[b.Masked()] = true
	}
	for x, c := range lately {
		if now.Sub(c.at) < lateTime {
			has[x] = c.there
		}
	}
	maps.DeleteFunc(has, func(_ netip.Prefix, there bool) bool { return !there })
	first, all := n.addrs(), slices.SortedFunc(maps.Keys(has), netip.Prefix.Compare)
	f.six = at.sixBlock(all)
	for _, x := range all {
		switch {
		case slices.Contains(first, x.Addr()) && x.IsSingleIP():
		case x.Addr().Is6():
			f.sixes++
		default:
			f.fours++
		}
		switch {
		case at.isBlock(x):
			f.addBlock(x, at, paired, first)
		case x.IsSingleIP() && at.usable(x.Addr()) && !slices.Contains(first, x.Addr()):
			six := at.partner(x.Addr())
			switch {
			case !paired:
				f.add(at, x.Addr(), netip.Addr{})
			case slices.Contains(first, six):
			case has[single(six)]:
				f.add(at, x.Addr(), six)
			default:
				f.half = append(f.half, x.Addr())
			}
		}
	}
	return f
}

// add adds a set. There are no more than an interface may have, and none has an address of another one.
func (f *further) add(at Subnet, four, six netip.Addr) {
	set := []netip.Prefix{netip.PrefixFrom(four, at.V4.Bits())}
	if six.IsValid() {
		set = append(set, netip.PrefixFrom(six, at.V6.Bits()))
	}
	if len(f.whole) < heddle.MaxFurther && !slices.ContainsFunc(f.whole, func(s []netip.Prefix) bool { return s[0] == set[0] }) {
		f.whole = append(f.whole, set)
	}
}
