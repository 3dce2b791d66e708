// Package parts holds what the plans of several modes have in common: ports, routes and MTUs, the
// parts of a LAN, and the forms of a plan that is handed over. Like the modes, it has no side
// effects.
package parts

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// Forwarding turns on the host's forwarding for the network's address families. An interface with a
// default route from a router advertisement keeps accepting advertisements (accept_ra 2), since
// with forwarding the kernel would otherwise ignore them.
func Forwarding(h heddle.HostFacts, n heddle.Network) []heddle.Sysctl {
	var all []heddle.Sysctl
	if n.HasFamily(heddle.IPv4) {
		all = append(all, heddle.Sysctl{Name: "net/ipv4/ip_forward", Value: "1"})
	}
	if n.HasFamily(heddle.IPv6) {
		for _, l := range h.Links {
			if l.Advertised {
				all = append(all, heddle.Sysctl{Name: "net/ipv6/conf/" + l.Name + "/accept_ra", Value: "2"})
			}
		}
		all = append(all, heddle.Sysctl{Name: "net/ipv6/conf/all/forwarding", Value: "1"})
	}
	return all
}

// UnreachableSubnets makes the network's unused addresses unreachable, with the worst metric.
// Otherwise a packet to an unused address would leave by the host's default route, masqueraded and
// unencrypted.
func UnreachableSubnets(n heddle.Network) []heddle.Route {
	var all []heddle.Route
	for _, s := range n.Subnets {
		all = append(all, heddle.Route{Dst: s, Type: "unreachable", Metric: 4294967295})
	}
	return all
}

// podBasics is what every container's end has: the loopback is up, IPv6 has only the given
// addresses (it is off on an IPv4 network), and router advertisements are ignored.
func podBasics(n heddle.Network, e heddle.Endpoint, link heddle.Link) heddle.State {
	conf := "net/ipv6/conf/" + e.Interface() + "/"
	s := heddle.State{Links: []heddle.Link{{Name: "lo"}, link}}
	if n.HasFamily(heddle.IPv6) {
		s.Sysctls = []heddle.Sysctl{{Name: conf + "accept_ra", Value: "0"}}
		s.Addresses = []heddle.Address{{Link: e.Interface(), Prefix: netip.PrefixFrom(e.MAC.LinkLocal(), 64)}}
	} else {
		s.Sysctls = []heddle.Sysctl{{Name: conf + "disable_ipv6", Value: "1"}}
	}
	return s
}

// PodOnSubnet is podBasics with the endpoint's addresses on the network's subnets and, if the
// endpoint has the default route, the routes through the network's gateways.
func PodOnSubnet(n heddle.Network, e heddle.Endpoint, link heddle.Link) heddle.State {
	s := podBasics(n, e, link)
	for _, a := range e.Addrs {
		s.Addresses = append(s.Addresses, heddle.Address{Link: link.Name, Prefix: a})
		if gw, ok := n.GatewayFor(a.Addr()); ok && e.DefaultRoute && !n.Internal {
			if way := (heddle.Route{Dst: heddle.FamilyOf(gw).Any(), Link: link.Name, Via: gw}); !slices.Contains(s.Routes, way) {
				s.Routes = append(s.Routes, way) // an endpoint may have several addresses of a family
			}
		}
	}
	return s
}

// shortcuts are the fast-path program and addresses of an endpoint.
func shortcuts(n heddle.Network, e heddle.Endpoint, bridged bool) heddle.State {
	if !n.Fast() || e.TakesStack() {
		return heddle.State{}
	}
	s := heddle.State{Programs: []heddle.Program{{Link: e.ID.PortName()}}}
	for _, a := range e.Addrs {
		s.Shortcuts = append(s.Shortcuts, heddle.Shortcut{Prefix: heddle.Single(a.Addr()), Group: n.Group(), Link: e.ID.PortName(),
			MAC: e.MAC, PortMAC: e.ID.PortMAC(), MTU: e.MTU, Bridged: bridged, BlockBits: heddle.BlockOf(a.Masked(), a.Addr()).Bits()})
	}
	return s
}
