package resolver

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// reversed returns the prefix that a name below in-addr.arpa or ip6.arpa means, and whether the
// name has more in front of it that is no part of an address.
func reversed(name string) (prefix netip.Prefix, more, ok bool) {
	name = strings.ToLower(name)
	if rest, v4 := strings.CutSuffix(name, ".in-addr.arpa"); v4 {
		octets, more := digits(rest, 4, 10, 255)
		var a [4]byte
		copy(a[:], octets)
		return netip.PrefixFrom(netip.AddrFrom4(a), 8*len(octets)), more, len(octets) > 0
	}
	if rest, v6 := strings.CutSuffix(name, ".ip6.arpa"); v6 {
		nibbles, more := digits(rest, 32, 16, 15)
		var a [16]byte
		for i, n := range nibbles {
			a[i/2] |= n << (4 * (1 - i%2))
		}
		return netip.PrefixFrom(netip.AddrFrom16(a), 4*len(nibbles)), more, len(nibbles) > 0
	}
	return netip.Prefix{}, false, false
}

// digits reads labels from the end on, as long as they are numbers as reverse names have them.
func digits(name string, most, base, highest int) (all []byte, more bool) {
	labels := strings.Split(name, ".")
	for _, label := range slices.Backward(labels) {
		n, err := strconv.ParseUint(label, base, 8)
		if err != nil || int(n) > highest || strconv.FormatUint(n, base) != label || len(all) == most {
			break
		}
		all = append(all, byte(n))
	}
	return all, len(all) < len(labels)
}
