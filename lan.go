package heddle

import (
	"net/netip"
	"slices"
)

// Parts of the modes whose containers are on their parent's own LAN.

// OnLAN takes the parent, the subnets and the routers that the user left out from
// the host.
func OnLAN(h HostFacts, n Network) (Network, error) {
	parent, ok := h.Uplink(n)
	if !ok && n.Parent == "" {
		return n, Errorf(NoParent, "network", n.Name, "the host has no default route; name an interface with --parent")
	}
	if !ok {
		return n, CheckParent(h, n)
	}
	n.Parent = parent.Name
	if len(n.Subnets) == 0 {
		n.Subnets = lanSubnets(parent)
	}
	if len(n.Gateways) == 0 {
		n.Gateways = routers(parent, n)
	}
	return n, nil
}

// lanSubnets are the first subnet of each family that the parent is in.
func lanSubnets(parent LinkFact) []netip.Prefix {
	var all []netip.Prefix
	for _, v4 := range []bool{true, false} {
		i := slices.IndexFunc(parent.Addrs, func(p netip.Prefix) bool {
			return p.Addr().Is4() == v4 && !p.Addr().IsLinkLocalUnicast() && p.Addr().BitLen()-p.Bits() >= 2
		})
		if i >= 0 {
			all = append(all, parent.Addrs[i].Masked())
		}
	}
	return all
}

// routers are the parent's gateways that the containers can reach too.
func routers(parent LinkFact, n Network) []netip.Addr {
	var all []netip.Addr
	for _, s := range n.Subnets {
		i := slices.IndexFunc(parent.Gateways, func(g netip.Addr) bool {
			return s.Contains(g) || g.Is6() && g.IsLinkLocalUnicast() && s.Addr().Is6()
		})
		if i >= 0 {
			all = append(all, parent.Gateways[i])
		}
	}
	return all
}

// AddressesOnLAN are the host's own on the network's LAN.
func AddressesOnLAN(parent LinkFact, n Network) []netip.Addr {
	var all []netip.Addr
	for _, p := range parent.Addrs {
		if slices.ContainsFunc(n.Subnets, func(s netip.Prefix) bool { return s.Contains(p.Addr()) }) {
			all = append(all, p.Addr())
		}
	}
	return all
}

// OfFamily is the address of the same family; the zero value if there is none.
func OfFamily(all []netip.Addr, as netip.Addr) netip.Addr {
	for _, a := range all {
		if a.Is4() == as.Is4() {
			return a
		}
	}
	return netip.Addr{}
}
