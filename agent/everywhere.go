package agent

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// EndpointsEverywhere lists the endpoints of all hosts, by host and ID. Of the other hosts it has
// what they say in the store: the endpoints with names on networks that this host has as well, with
// ID, names and addresses and nothing else. Without the store they are as they were last seen.
func (a *Agent) EndpointsEverywhere() []heddle.Endpoint {
	self := a.host.now().Name
	all := a.Endpoints()
	for i := range all {
		all[i].Host = self
	}
	networks, _ := a.names.all()
	for _, n := range networks {
		for _, e := range n.Endpoints {
			if e.Host == "" {
				continue // this host's, see above
			}
			other := heddle.Endpoint{ID: e.ID, Host: e.Host, Network: n.ID, NetworkName: n.Name,
				Name: e.Name, Aliases: e.Aliases}
			for _, addr := range e.Addrs {
				other.Addrs = append(other.Addrs, inSubnet(addr, n.Subnets))
			}
			all = append(all, other)
		}
	}
	slices.SortFunc(all, func(x, y heddle.Endpoint) int {
		return cmp.Or(cmp.Compare(x.Host, y.Host), x.ID.Compare(y.ID))
	})
	return all
}

// inSubnet returns an address with the length of the subnet that it is in.
func inSubnet(addr netip.Addr, subnets []netip.Prefix) netip.Prefix {
	for _, s := range subnets {
		if s.Contains(addr) {
			return netip.PrefixFrom(addr, s.Bits())
		}
	}
	return heddle.Single(addr)
}
