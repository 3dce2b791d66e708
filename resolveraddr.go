package heddle

import "net/netip"

// ResolverAddr is the address of the host at which containers on a LAN ask for names, since their
// gateway is not on the host. It is the same on all hosts, and leads nowhere from outside a host:
// a link-local IPv4 address and a unique local IPv6 address (RFC 3927, RFC 4193). 0x68 and 104 are
// 'h', and the IPv6 prefix spells "heddle".
func ResolverAddr(f Family) netip.Addr {
	if f == IPv4 {
		return netip.AddrFrom4([4]byte{169, 254, 104, 53})
	}
	return netip.AddrFrom16([16]byte{0xfd, 'h', 'e', 'd', 'd', 'l', 0, 'e', 15: 0x53})
}

// ResolverPort is where containers ask for names, by UDP and TCP (RFC 1035, section 4.2).
const ResolverPort = 53
