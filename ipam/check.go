package ipam

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// Check validates a network's addressing and returns it completed: prefixes
// masked, one gateway for each subnet in the subnets' order, by default the
// subnet's first usable address. It is pure, keeps nothing of n's slices, and
// a network that it has returned passes unchanged.
func Check(n heddle.Network) (heddle.Network, error) { return check(n, false) }

// CheckOnLAN is Check for a network on a LAN that has routers of its own, or
// none: no gateway is made up, and one may be link-local, as routers advertise
// it (RFC 4861, section 4.2).
func CheckOnLAN(n heddle.Network) (heddle.Network, error) { return check(n, true) }

func check(n heddle.Network, onLAN bool) (heddle.Network, error) {
	var err error
	if n.Subnets, err = checkSubnets(n); err != nil {
		return heddle.Network{}, err
	}
	if n.Gateways, err = checkGateways(n, onLAN); err != nil {
		return heddle.Network{}, err
	}
	if n.Ranges, err = checkRanges(n); err != nil {
		return heddle.Network{}, err
	}
	if n.Reserved, err = checkReserved(n); err != nil {
		return heddle.Network{}, err
	}
	return n, nil
}

func checkSubnets(n heddle.Network) ([]netip.Prefix, error) {
	all := slices.Clone(n.Subnets)
	for i, s := range all {
		if remedy := unfit(s); remedy != "" {
			return nil, refuse(n, "subnet", s.String(), remedy)
		}
		all[i] = s.Masked()
		same := func(o netip.Prefix) bool { return heddle.FamilyOf(o.Addr()) == heddle.FamilyOf(s.Addr()) }
		if j := slices.IndexFunc(all[:i], same); j >= 0 {
			return nil, refuse(n, "subnet", s.String(), "it has "+all[j].String()+" of the same family already")
		}
	}
	return all, nil
}

// unfit says why nothing can be addressed from the subnet, "" if it can.
func unfit(s netip.Prefix) string {
	if !s.IsValid() {
		return "give it in CIDR form, such as 10.20.0.0/24 or fd20::/64"
	}
	if s.Addr().BitLen()-s.Bits() < 2 {
		return "it has no room for a gateway and an endpoint; the longest prefixes are /30 and /126"
	}
	for _, x := range unusable {
		if x.prefix.Overlaps(s) {
			return "it has " + x.what + " addresses (" + x.prefix.String() + "), which no container can use"
		}
	}
	return ""
}

func checkGateways(n heddle.Network, onLAN bool) ([]netip.Addr, error) {
	given := map[netip.Prefix]netip.Addr{}
	for _, g := range n.Gateways {
		s, ok := subnetOf(n.Subnets, g)
		if onLAN && g.Is6() && g.IsLinkLocalUnicast() {
			i := slices.IndexFunc(n.Subnets, func(s netip.Prefix) bool { return s.Addr().Is6() })
			if ok = i >= 0; ok {
				s = n.Subnets[i]
			}
		}
		if !ok {
			return nil, refuse(n, "gateway", g.String(), "the gateway must lie in one of its subnets")
		}
		if edge := edgeOf(s, g); edge != "" {
			return nil, refuse(n, "gateway", g.String(), "it is the "+edge+" of "+s.String())
		}
		if other, twice := given[s]; twice {
			return nil, refuse(n, "gateway", g.String(), "subnet "+s.String()+" has gateway "+other.String()+" already")
		}
		given[s] = g
	}
	var all []netip.Addr
	for _, s := range n.Subnets {
		if g, ok := given[s]; ok {
			all = append(all, g)
		} else if !onLAN {
			all = append(all, s.Addr().Next())
		}
	}
	return all, nil
}

// checkRanges refuses ranges that overlap, since an address could then be
// given out twice.
func checkRanges(n heddle.Network) ([]netip.Prefix, error) {
	all := slices.Clone(n.Ranges)
	for i, r := range all {
		s, ok := subnetOf(n.Subnets, r.Addr())
		if !ok || !r.IsValid() || r.Bits() < s.Bits() {
			return nil, refuse(n, "range", r.String(), "a range must lie in one of its subnets")
		}
		all[i] = r.Masked()
		if j := slices.IndexFunc(all[:i], r.Overlaps); j >= 0 {
			return nil, refuse(n, "range", r.String(), "it overlaps range "+all[j].String())
		}
	}
	return all, nil
}

func checkReserved(n heddle.Network) ([]netip.Addr, error) {
	for _, a := range n.Reserved {
		if _, ok := subnetOf(n.Subnets, a); !ok {
			return nil, refuse(n, "reserved address", a.String(), "a reserved address must lie in one of its subnets")
		}
	}
	return slices.Clone(n.Reserved), nil
}

func refuse(n heddle.Network, what, value, remedy string) error {
	return heddle.Errorf(heddle.BadSubnet, "network "+n.Name+": "+what, value, "", remedy)
}
