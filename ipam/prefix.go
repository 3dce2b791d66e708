package ipam

import "net/netip"

// unusable are the addresses that no interface of a container can have, or
// that mean something else to a kernel.
var unusable = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast"},
	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("::ffff:0.0.0.0/96"), "IPv4-mapped"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

func subnetOf(subnets []netip.Prefix, a netip.Addr) (netip.Prefix, bool) {
	for _, s := range subnets {
		if s.Contains(a) {
			return s, true
		}
	}
	return netip.Prefix{}, false
}

// edgeOf names the role of an address at the edge of a subnet, "" for the addresses between. IPv6
// has no broadcast address, but the first address belongs to every router (RFC 4291, section
// 2.6.1).
func edgeOf(s netip.Prefix, a netip.Addr) string {
	switch {
	case a == s.Addr():
		return "network address"
	case a.Is4() && !s.Contains(a.Next()):
		return "broadcast address"
	default:
		return ""
	}
}
