package aliyun

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// A set of further addresses is an IPv4 address that the cloud has chosen and, where the vSwitch has IPv6, the IPv6 address that goes with it. That one is
// made from it: so nobody has to remember which are a set, and an address that is asked for again is the same one.

// partnerMark is in the IPv6 addresses that go with IPv4 addresses, between the vSwitch's prefix and the IPv4 address.
var partnerMark = [4]byte{'h', 'e', 'd', 'd'}

// partnerBits is the longest IPv6 prefix with room for partnerMark and an IPv4 address. The cloud's vSwitches have /64.
const partnerBits = 64

// partner is the IPv6 address of a vSwitch that goes with an IPv4 address.
func (v vSwitch) partner(a netip.Addr) netip.Addr {
	bytes := v.v6.Masked().Addr().As16()
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

// sets is how many sets of further addresses a NIC of an instance of this kind may have. Its first addresses are among those that it may have. If it may
// have several IPv6 addresses, each set on a vSwitch with IPv6 takes one.
func (k kind) sets() int {
	most := k.EniPrivateIpAddressQuantity
	if k.manySix() {
		most = min(most, k.EniIpv6AddressQuantity)
	}
	return min(max(0, most-1), heddle.MaxFurther)
}

func (k kind) manySix() bool { return k.EniIpv6AddressQuantity > 1 }

// paired reports whether sets of a vSwitch have an IPv6 address.
func (k kind) paired(at vSwitch) bool {
	return k.manySix() && at.v6.IsValid() && at.v6.Bits() <= partnerBits
}

// usable reports whether a NIC of the vSwitch can have an IPv4 address: the first and the last three of a vSwitch are the system's
// (Alibaba Cloud, "vSwitch").
func (v vSwitch) usable(a netip.Addr) bool {
	first := v.v4.Masked().Addr()
	router := gateway(v.v4)
	return a.Is4() && v.v4.Contains(a) && a != first && a.Less(router)
}

// fours and sixes are all addresses of a NIC as they are listed, but for the first IPv4 address.
func (e eni) fours() (all []netip.Addr) {
	for _, x := range e.PrivateIPs.Set {
		if a, err := netip.ParseAddr(x.PrivateIpAddress); err == nil && !x.Primary && x.PrivateIpAddress != e.PrimaryIP {
			all = append(all, a)
		}
	}
	return all
}

func (e eni) sixes() (all []netip.Addr) {
	for _, x := range e.IPv6.Set {
		if a, err := netip.ParseAddr(x.Ipv6Address); err == nil {
			all = append(all, a)
		}
	}
	return all
}

// further are addresses that a NIC has besides the first ones: whole sets, and IPv4 addresses whose IPv6 address is missing, in order.
type further struct {
	whole [][]netip.Prefix
	half  []netip.Addr
}

// furtherOf are the further addresses of a NIC: those that are listed, but for changes that the list may not have yet. What the vSwitch cannot have given is
// left out.
func furtherOf(e eni, at vSwitch, paired bool, lately map[netip.Addr]change, now time.Time) (f further) {
	has := map[netip.Addr]bool{}
	for _, a := range append(e.fours(), e.sixes()...) {
		has[a] = true
	}
	for a, c := range lately {
		if now.Sub(c.at) < lateTime {
			has[a] = c.there
		}
	}
	first := e.addrs()
	for _, a := range slices.SortedFunc(maps.Keys(has), netip.Addr.Compare) {
		if !has[a] || !at.usable(a) || slices.Contains(first, a) {
			continue
		}
		set := []netip.Prefix{netip.PrefixFrom(a, at.v4.Bits())}
		if paired {
			six := at.partner(a)
			if slices.Contains(first, six) {
				continue
			}
			if !has[six] {
				f.half = append(f.half, a)
				continue
			}
			set = append(set, netip.PrefixFrom(six, at.v6.Bits()))
		}
		if len(f.whole) < heddle.MaxFurther {
			f.whole = append(f.whole, set)
		}
	}
	return f
}
