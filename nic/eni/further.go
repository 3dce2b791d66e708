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

// further are addresses that a NIC has besides the first ones: whole sets, and IPv4 addresses whose IPv6 address is missing, in order.
type further struct {
	whole [][]netip.Prefix
	half  []netip.Addr
}

// furtherOf are the further addresses of a NIC: those that are listed, but for changes that the list may not have yet. What the subnet cannot have given is
// left out.
func furtherOf(n NIC, at Subnet, paired bool, lately map[netip.Addr]change, now time.Time) (f further) {
	has := map[netip.Addr]bool{}
	for _, a := range slices.Concat(n.Fours, n.Sixes) {
		has[a] = true
	}
	for a, c := range lately {
		if now.Sub(c.at) < lateTime {
			has[a] = c.there
		}
	}
	first := n.addrs()
	for _, a := range slices.SortedFunc(maps.Keys(has), netip.Addr.Compare) {
		if !has[a] || !at.usable(a) || slices.Contains(first, a) {
			continue
		}
		set := []netip.Prefix{netip.PrefixFrom(a, at.V4.Bits())}
		if paired {
			six := at.partner(a)
			if slices.Contains(first, six) {
				continue
			}
			if !has[six] {
				f.half = append(f.half, a)
				continue
			}
			set = append(set, netip.PrefixFrom(six, at.V6.Bits()))
		}
		if len(f.whole) < heddle.MaxFurther {
			f.whole = append(f.whole, set)
		}
	}
	return f
}
