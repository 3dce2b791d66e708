package firewall

import "github.com/heddle-network/heddle"

// NICChains check what arrives on NICs that the host has for its containers alone: packets must have come by the NIC by which the answer would leave (strict reverse
// path, RFC 3704, section 2.2). So those on a NIC's network reach its containers and its first address, not what else the host has, or routes to. The kernel's
// rp_filter does not do: it knows IPv4 only, and where the setting for all interfaces is 2, as on Ubuntu, a NIC's own 1 has no effect.
//
// Multicast of neighbours and routers comes from link-local addresses, to which there is a way by each NIC. Questions of neighbours also come from their others, and to a
// container's address, from where no way leads to a link-local one by a NIC without a gateway.
func NICChains() []heddle.Firewall {
	return append(sets("inet", "nics"),
		chain("inet", "guard-nic", "type filter hook prerouting priority raw - 4; policy accept;",
			"iifname != @nics return",
			"icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } return",
			"fib saddr . iif oif missing "+Drop("isolated")))
}

// NICElements have what arrives on a NIC checked by NICChains.
func NICElements(name string) []heddle.Element {
	return []heddle.Element{{Family: "inet", Set: "nics", Match: []string{name}}}
}
