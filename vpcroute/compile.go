package vpcroute

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// Table are the routes of a VPC, by destination.
type Table map[netip.Prefix]Route

// Member is what can be a next hop: an endpoint, or the host.
type Member struct {
	ID heddle.EndpointID
	// Host says that it is the host, with its addresses on the link to the VPC. It has no ID, and no port.
	Host bool
	// Network is the name of its network, Link the device that leads there.
	Network, Link string
	// Port is its port; "" if nothing sees all that it sends.
	Port  string
	Addrs []netip.Addr
}

// Has reports whether it has the address.
func (m Member) Has(a netip.Addr) bool { return slices.Contains(m.Addrs, a) }

// at is its address to which packets of a route go.
func (m Member) at(r Route) netip.Addr {
	if m.Host {
		return heddle.OfFamily(m.Addrs, heddle.FamilyOf(r.Destination.Addr()))
	}
	return r.NextHop
}

// blackholeMetric is that of the route beneath each route: when a next hop or its link goes, packets do not take a shorter prefix.
const blackholeMetric = 4294967294

// Sorted are the routes, IPv4's first, shorter prefixes before those that lie in them.
func (all Table) Sorted() []Route {
	some := make([]Route, 0, len(all))
	for _, r := range all {
		some = append(some, r)
	}
	slices.SortFunc(some, func(a, b Route) int {
		return cmp.Or(a.Destination.Addr().Compare(b.Destination.Addr()), cmp.Compare(a.Destination.Bits(), b.Destination.Bits()))
	})
	return some
}

// Has reports whether there is a route to the prefix.
func (all Table) Has(destination netip.Prefix) bool {
	_, there := all[destination]
	return there
}

// Overrules reports whether one of the routes would take packets from a subnet.
func (all Table) Overrules(subnet netip.Prefix) bool {
	for destination := range all {
		if Overrules(destination, subnet) {
			return true
		}
	}
	return false
}

// Show says what has become of each route.
func (all Table) Show(networks []heddle.Network, members []Member) []Shown {
	shown := []Shown{}
	for _, r := range all.Sorted() {
		s, _ := r.resolve(networks, members)
		shown = append(shown, s)
	}
	return shown
}

// resolve finds the next hop to which a route leads, if it is active.
func (r Route) resolve(networks []heddle.Network, members []Member) (Shown, Member) {
	for _, n := range networks {
		for _, p := range n.Subnets {
			if Overrules(r.Destination, p) {
				return Shown{r, Shadowed, "network " + n.Name + " has " + p.String()}, Member{}
			}
		}
	}
	if r.Host {
		i := slices.IndexFunc(members, func(m Member) bool { return m.Host && m.at(r).IsValid() })
		if i < 0 {
			return Shown{r, Blackhole, "the VPC has no way out by the host"}, Member{}
		}
		return Shown{r, Active, ""}, members[i]
	}
	if !r.NextHop.IsValid() {
		return Shown{r, Blackhole, ""}, Member{}
	}
	i := slices.IndexFunc(members, func(m Member) bool { return m.ID == r.Endpoint })
	switch {
	case i < 0:
		return Shown{r, Blackhole, "endpoint " + r.Endpoint.String() + " is gone"}, Member{}
	case !members[i].Has(r.NextHop):
		return Shown{r, Blackhole, "endpoint " + r.Endpoint.String() + " has the address no more"}, Member{}
	case members[i].Port == "":
		return Shown{r, Blackhole, "nothing guards the port of endpoint " + r.Endpoint.String() + " on network " + members[i].Network}, Member{}
	}
	return Shown{r, Active, ""}, members[i]
}

// Compile computes what the VPC has to have for its routes: the routes, each with a blackhole beneath it, and for the port of each next hop what
// it may send besides its own addresses.
func (all Table) Compile(networks []heddle.Network, members []Member) (s heddle.State) {
	if len(all) == 0 {
		return s
	}
	hops := map[string]Member{}
	mine := map[string][]netip.Prefix{} // by port
	for _, r := range all.Sorted() {
		shown, m := r.resolve(networks, members)
		if shown.State == Shadowed {
			continue
		}
		s.Routes = append(s.Routes, heddle.Route{Dst: r.Destination, Type: "blackhole", Metric: blackholeMetric})
		if shown.State == Active {
			s.Routes = append(s.Routes, heddle.Route{Dst: r.Destination, Link: m.Link, Via: m.at(r)})
		}
		if shown.State == Active && !m.Host {
			hops[m.Port], mine[m.Port] = m, append(mine[m.Port], r.Destination)
		}
	}
	s.Firewall = firewall.VPCRoutes(ownSubnets(networks))
	for _, port := range sortedKeys(hops) {
		chains, elements := firewall.NextHop(port, all.ways(networks, mine[port]))
		s.Firewall, s.Elements = append(s.Firewall, chains...), append(s.Elements, elements...)
	}
	return s
}

// ways are the prefixes that decide what is beyond a next hop, the longest first: its own routes, and what lies in these and is somebody else's,
// the subnets and peers of the VPC above all.
func (all Table) ways(networks []heddle.Network, mine []netip.Prefix) (ways []firewall.Way) {
	seen := map[netip.Prefix]bool{}
	add := func(p netip.Prefix, beyond bool) {
		if !seen[p] && slices.ContainsFunc(mine, func(o netip.Prefix) bool { return within(p, o) }) {
			seen[p] = true
			ways = append(ways, firewall.Way{Prefix: p, Beyond: beyond})
		}
	}
	for _, n := range networks {
		for _, p := range n.Subnets {
			add(p, false)
		}
	}
	for _, p := range never {
		add(p, false)
	}
	for _, r := range all.Sorted() {
		add(r.Destination, slices.Contains(mine, r.Destination))
	}
	slices.SortStableFunc(ways, func(a, b firewall.Way) int { return cmp.Compare(b.Prefix.Bits(), a.Prefix.Bits()) })
	return ways
}

// ownSubnets are those of the networks that are not a peer's, nor the host's.
func ownSubnets(networks []heddle.Network) (all []netip.Prefix) {
	for _, n := range networks {
		if n.Mode != heddle.ModePeering && n.Mode != heddle.ModeGateway {
			all = append(all, n.Subnets...)
		}
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all
}

func sortedKeys(all map[string]Member) (keys []string) {
	for key := range all {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
