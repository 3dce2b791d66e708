package heddle

import (
	"net/netip"
	"slices"
)

// Family is a family of IP addresses. The zero value means no family; its methods that
// return text or addresses answer as for IPv6.
type Family uint8

// The families, by their versions of IP.
const (
	IPv4 Family = 4
	IPv6 Family = 6
)

// Families are both, IPv4 first.
func Families() [2]Family { return [2]Family{IPv4, IPv6} }

// FamilyOf is the family of an address, 0 for an invalid one. An IPv4-mapped IPv6 address
// counts as IPv6.
func FamilyOf(a netip.Addr) Family {
	switch {
	case a.Is4():
		return IPv4
	case a.Is6():
		return IPv6
	}
	return 0
}

// Has reports whether an address is of the family.
func (f Family) Has(a netip.Addr) bool { return f != 0 && FamilyOf(a) == f }

// String is "IPv4" or "IPv6".
func (f Family) String() string { return "IPv" + f.Digit() }

// Digit is "4" or "6". It ends the names of objects that serve one family.
func (f Family) Digit() string {
	if f == IPv4 {
		return "4"
	}
	return "6"
}

// Word is what nftables calls a packet of the family: "ip" or "ip6".
func (f Family) Word() string {
	if f == IPv4 {
		return "ip"
	}
	return "ip6"
}

// Header is the length of the IP header without options, in bytes (RFC 791, 3.1; RFC
// 8200, 3).
func (f Family) Header() int {
	if f == IPv4 {
		return 20
	}
	return 40
}

// LeastMTU is, in bytes, the size that every IPv4 host must accept (RFC 791, 3.2) and
// that every IPv6 link must carry (RFC 8200, 5).
func (f Family) LeastMTU() int {
	if f == IPv4 {
		return 576
	}
	return 1280
}

// Unspecified is 0.0.0.0 or ::.
func (f Family) Unspecified() netip.Addr {
	if f == IPv4 {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// Any is 0.0.0.0/0 or ::/0.
func (f Family) Any() netip.Prefix { return netip.PrefixFrom(f.Unspecified(), 0) }

// OfFamily is the first address of a family; the zero value if there is none.
func OfFamily(all []netip.Addr, f Family) netip.Addr {
	if i := slices.IndexFunc(all, f.Has); i >= 0 {
		return all[i]
	}
	return netip.Addr{}
}

// Single is the address as a prefix of full length (/32 or /128).
func Single(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

// LastAddr is the last address of a prefix.
func LastAddr(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}
