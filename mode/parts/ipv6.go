package parts

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// IPv6 is the option of modes whose containers may have IPv6 addresses as the LAN's routers say.
var IPv6 = heddle.ModeOption{Name: heddle.OptionIPv6, Values: heddle.IPv6Auto,
	Text: "IPv6 addresses, too, as the LAN's routers say (SLAAC, DHCPv6); with addresses=dhcp"}

// LimitRouters is what the host does not control where a LAN's routers say what its IPv6 addresses are.
const LimitRouters = "whoever advertises itself as a router on the LAN says which IPv6 addresses the containers have, and where their IPv6 default route leads; only a switch can tell the right one (RA Guard)"

// CheckIPv6 refuses an unknown way to IPv6 addresses, and one besides the subnets that the user names.
func CheckIPv6(n heddle.Network) error {
	switch v, given := n.Options[heddle.OptionIPv6]; {
	case !given:
		return nil
	case v != heddle.IPv6Auto:
		return BadOption(n, heddle.OptionIPv6+"="+heddle.Clip(v), "there is no such way to IPv6 addresses", "give auto, or leave it out: then containers have no IPv6")
	case !n.FromDHCP():
		return BadOption(n, heddle.OptionIPv6+"="+v, "the network has subnets of its own, and its addresses are given out of them",
			"name an IPv6 subnet with --subnet, or take all addresses from the LAN (--opt addresses=dhcp)")
	}
	return nil
}

// beside reports whether an address is in one of the host's own subnets, where host and container reach each other without a router.
func beside(parent heddle.LinkFact, a netip.Addr) bool {
	return slices.ContainsFunc(parent.Addrs, func(own netip.Prefix) bool { return own.Contains(a) })
}

// Beside is the endpoint with those of its addresses alone that the host reaches without a router, by its own word: neither a DHCP server
// nor a router gets traffic of the host by what it says.
func Beside(parent heddle.LinkFact, n heddle.Network, e heddle.Endpoint) heddle.Endpoint {
	if n.FromDHCP() {
		e.Addrs = slices.DeleteFunc(slices.Clone(e.Addrs), func(p netip.Prefix) bool { return !beside(parent, p.Addr()) })
	}
	return e
}
