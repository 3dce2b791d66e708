package ipam

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// Check validates a network's addressing and returns it completed: there
// is one gateway for each subnet in the order of the subnets, by default the first usable
// address. Check has no side effects and keeps no reference to n's slices. It returns a network
// that it has completed before unchanged.
func Check(n heddle.Network) (heddle.Network, error) { return check(n, false) }

// CheckOnLAN is Check for a network on a LAN that has its own routers, or none. It invents no
// gateway, and a gateway may be link-local, as routers advertise it (RFC 4861, section 4.2).
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
		if cause, remedy := unfit(s); cause != "" {
			return nil, badSubnet(n, cause, remedy)
		}
		same := func(o netip.Prefix) bool { return heddle.FamilyOf(o.Addr()) == heddle.FamilyOf(s.Addr()) }
		if j := slices.IndexFunc(all[:i], same); j >= 0 {
			return nil, badSubnet(n, fmt.Sprintf("its subnets %s and %s are of one family", all[j], s), "give one subnet of a family")
		}
	}
	return all, nil
}

// unfit says why no endpoint can have an address of the subnet, and the remedy; "" if an endpoint
// can.
func unfit(s netip.Prefix) (cause, remedy string) {
	if !s.IsValid() {
		return "a subnet is not in CIDR form", "give one such as 10.20.0.0/24 or fd20::/64"
	}
	if s.Addr().BitLen()-s.Bits() < 2 {
		return fmt.Sprintf("its subnet %s has no room for a gateway and an endpoint", s), "give a prefix of at most /30 (IPv6: /126)"
	}
	if cause, remedy := heddle.CheckHostBits(s); cause != "" {
		return cause, remedy
	}
	for _, x := range unusable {
		if x.prefix.Overlaps(s) {
			return fmt.Sprintf("its subnet %s has %s addresses (%s), which no container can use", s, x.what, x.prefix), "choose another subnet"
		}
	}
	return "", ""
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
			return nil, badSubnet(n, fmt.Sprintf("its gateway %s is in none of its subnets", g), "name a gateway in one of them")
		}
		if edge := edgeOf(s, g); edge != "" {
			return nil, badSubnet(n, fmt.Sprintf("its gateway %s is the %s of %s", g, edge, s), "name another gateway, or leave it out")
		}
		if other, twice := given[s]; twice {
			return nil, badSubnet(n, fmt.Sprintf("its subnet %s has two gateways, %s and %s", s, other, g), "name one gateway for a subnet")
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
			return nil, badSubnet(n, fmt.Sprintf("its range %s is in none of its subnets", r), "give a range inside one of them")
		}
		if cause, _ := heddle.CheckHostBits(r); cause != "" {
			return nil, badSubnet(n, cause, "give the range "+r.Masked().String())
		}
		if j := slices.IndexFunc(all[:i], r.Overlaps); j >= 0 {
			return nil, badSubnet(n, fmt.Sprintf("its ranges %s and %s overlap", all[j], r), "give ranges that do not overlap")
		}
	}
	return all, nil
}

func checkReserved(n heddle.Network) ([]netip.Addr, error) {
	for _, a := range n.Reserved {
		if _, ok := subnetOf(n.Subnets, a); !ok {
			return nil, badSubnet(n, fmt.Sprintf("its reserved address %s is in none of its subnets", a), "reserve addresses inside them")
		}
	}
	return slices.Clone(n.Reserved), nil
}

func badSubnet(n heddle.Network, cause, remedy string) error {
	return heddle.Errorf(heddle.BadSubnet, "create network", n.Name, cause, remedy)
}
