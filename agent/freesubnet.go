package agent

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// checkSubnetFree refuses a subnet that overlaps a network's. Overlaps with the host's interfaces
// are for the network's mode to check.
func (k *reservations) checkSubnetFree(subnet netip.Prefix) error {
	for name, s := range k.networkSubnets() {
		if i := slices.IndexFunc(s, subnet.Overlaps); i >= 0 {
			return heddle.Errorf(heddle.SubnetOverlap, "reserve pool", subnet.String(),
				fmt.Sprintf("the pool overlaps subnet %s of network %s", s[i], name), "choose another subnet")
		}
	}
	return nil
}

// networkSubnets returns the subnets of all networks of this host and its cluster, by name.
func (k *reservations) networkSubnets() map[string][]netip.Prefix {
	all := map[string][]netip.Prefix{}
	for _, n := range k.networks.all() {
		all[n.Name] = n.Subnets
	}
	if k.cluster != nil {
		for _, n := range k.cluster.View().Networks {
			all[n.Name] = append(slices.Clone(all[n.Name]), n.Subnets...)
		}
	}
	return all
}

// A free subnet is a /20 of this part of RFC 1918, large enough for a cluster to give its
// hosts blocks of it, or a /64 of a random unique local prefix (RFC 4193).
var usualRange = freeRange{netip.MustParsePrefix("10.128.0.0/9"), 20, 64}

// freeRange is where free subnets are searched: a range of IPv4, and how long subnets of IPv4 and of IPv6 are.
type freeRange struct {
	four         netip.Prefix
	bits4, bits6 int
}

// freeSubnetLocked starts its search at a random subnet, so that two hosts that choose at the same
// time do not choose the same one.
func (k *reservations) freeSubnetLocked(f heddle.Family, in freeRange) (netip.Prefix, error) {
	taken, err := k.kernel.Destinations()
	if err != nil {
		return netip.Prefix{}, err
	}
	routes := k.routes.now()
	taken = slices.DeleteFunc(taken, routes.Has) // a network may lie within such a prefix
	for _, s := range k.networkSubnets() {
		taken = append(taken, s...)
	}
	for _, p := range k.poolByID {
		taken = append(taken, p.Subnet)
	}
	if f := k.host.now().Fabric; f != nil {
		for _, h := range append(slices.Clone(f.Peers), f.Self) {
			for _, u := range h.Underlay {
				taken = append(taken, heddle.Single(u))
			}
		}
	}
	count := 1 << (in.bits4 - in.four.Bits())
	first := rand.IntN(count)
	for i := range count {
		s := in.subnet(uint32(first+i) % uint32(count))
		if f == heddle.IPv6 {
			s = randomLocal(in.bits6)
		}
		if !slices.ContainsFunc(taken, s.Overlaps) && !routes.Overrules(s) {
			return s, nil
		}
	}
	return netip.Prefix{}, heddle.Errorf(heddle.PoolExhausted, "find a free subnet in", in.four.String(),
		"all subnets are in use", "name a subnet with --subnet")
}

// chooseSubnets gives a network of a mode that needs a subnet free ones if the request names
// none: of both families if the host has IPv6 and the mode takes it there, else of IPv4.
func (a *Agent) chooseSubnets(mode heddle.Mode, n heddle.Network) (heddle.Network, error) {
	if !choosesSubnets(mode, n) {
		return n, nil
	}
	in := usualRange
	if own, is := mode.(heddle.OwnRange); is {
		in.four, in.bits4, in.bits6 = own.OwnRange()
	}
	four, err := a.reservations.freeSubnet(heddle.IPv4, in)
	if heddle.PoolExhausted.In(err) != nil {
		four, err = a.reservations.freeSubnet(heddle.IPv4, freeRange{usualRange.four, in.bits4, in.bits6})
	}
	if err != nil {
		return n, err
	}
	single := n
	single.Subnets = []netip.Prefix{four}
	if !hasIPv6Address(a.host.now()) {
		return single, nil
	}
	six, err := a.reservations.freeSubnet(heddle.IPv6, in)
	if err != nil {
		return n, err
	}
	dual := n
	dual.Subnets = []netip.Prefix{four, six}
	if heddle.BadMTU.In(mode.Check(a.host.now(), dual)) != nil {
		return single, nil // there is no room for IPv6
	}
	return dual, nil
}

// choosesSubnets reports whether the agent chooses the subnets of a network that is asked for.
func choosesSubnets(mode heddle.Mode, n heddle.Network) bool {
	if _, plugs := heddle.PlugsParents(mode, n); plugs {
		return false
	}
	own, is := mode.(heddle.OwnSubnet)
	return is && own.NeedsSubnet() && len(n.Subnets)+len(n.Gateways)+len(n.Ranges)+len(n.Reserved) == 0
}

// hasIPv6Address reports whether an interface of the host has an IPv6 address.
func hasIPv6Address(h heddle.HostFacts) bool {
	return slices.ContainsFunc(h.Links, func(l heddle.LinkFact) bool {
		return slices.ContainsFunc(l.Addrs, func(p netip.Prefix) bool { return p.Addr().Is6() })
	})
}

// freeSubnet is a subnet that overlaps nothing that this host knows of.
func (k *reservations) freeSubnet(f heddle.Family, in freeRange) (netip.Prefix, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.freeSubnetLocked(f, in)
}

// subnet is one of the subnets of IPv4.
func (in freeRange) subnet(i uint32) netip.Prefix {
	b := in.four.Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])|i<<(32-in.bits4))
	return netip.PrefixFrom(netip.AddrFrom4(b), in.bits4)
}

// randomLocal is a prefix of a random /64 below fd00::/8.
func randomLocal(bits int) netip.Prefix {
	var b [16]byte
	b[0] = 0xfd
	for i := 1; i < 8; i++ {
		b[i] = byte(rand.IntN(256))
	}
	return netip.PrefixFrom(netip.AddrFrom16(b), bits)
}
