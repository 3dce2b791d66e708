package ipvlan

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/parts"
)

// services are the prefixes whose traffic goes through the host's stack.
func services(n heddle.Network) ([]netip.Prefix, error) {
	option := n.Options["services"]
	if option == "" {
		return nil, nil
	}
	var all []netip.Prefix
	for _, text := range strings.Split(option, ",") {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, parts.BadOption(n, "services="+heddle.Clip(option), strconv.Quote(heddle.Clip(text))+" is not a prefix",
				"give prefixes joined by commas, such as services=10.96.0.0/12,fd00:96::/112")
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

const ownPrefix = "name a prefix that only services use"

// checkServices refuses prefixes that cannot be taken out of the containers'
// traffic.
func checkServices(h heddle.HostFacts, n heddle.Network) error {
	all, err := services(n)
	if err != nil {
		return err
	}
	for i, p := range all {
		bad := func(cause, remedy string) error { return parts.BadOption(n, "services="+p.String(), cause, remedy) }
		switch {
		case subMode(n) != subL2:
			return bad("in sub-mode "+subMode(n)+" replies would not pass the rules that made the requests", "use ipvlan_mode=l2")
		case p.Bits() == 0:
			return bad("it covers all addresses", "name the prefixes of the services")
		case !n.HasFamily(heddle.FamilyOf(p.Addr())):
			return bad("no container has an address of that family", "leave it out, or give the network a subnet of that family")
		case slices.ContainsFunc(n.Subnets, p.Overlaps):
			return bad("it overlaps with the network's own subnet", ownPrefix)
		case coversHost(h, p):
			return bad("it covers addresses or routers of the host's own interfaces, which would be cut off", ownPrefix)
		case slices.ContainsFunc(all[:i], p.Overlaps):
			return bad("it overlaps with another one", "name the larger one only")
		case !heddle.OfFamily(append(nodeAddresses(h, n), ownAddresses(h, n)...), heddle.FamilyOf(p.Addr())).IsValid():
			return bad("the host has no address of that family, to which replies could come back", "give the host one")
		}
	}
	return nil
}

// coversHost reports whether a prefix covers an address or router of the host's interfaces; what
// the host itself sends there would come back to it. Single addresses away from the routers may be
// those of services (IPVS has them on a device).
func coversHost(h heddle.HostFacts, p netip.Prefix) bool {
	return slices.ContainsFunc(h.Links, func(l heddle.LinkFact) bool {
		return slices.ContainsFunc(l.Gateways, p.Contains) || slices.ContainsFunc(l.Addrs, func(on netip.Prefix) bool {
			lan := on.Bits() > 0 && (!on.IsSingleIP() || len(l.Gateways) > 0)
			return lan && p.Overlaps(on.Masked())
		})
	})
}

// overlappingService is a prefix of the network's services that contains addresses of the other
// network.
func overlappingService(n, other heddle.Network) netip.Prefix {
	all, _ := services(n) // the prefixes were checked when the network was created
	for _, p := range all {
		if slices.ContainsFunc(other.Subnets, p.Overlaps) {
			return p
		}
	}
	return netip.Prefix{}
}
