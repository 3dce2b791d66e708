package parts

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// gatewayLinkLocal is the link-local address of every routed endpoint's host end.
var gatewayLinkLocal = netip.MustParsePrefix("fe80::1/64")

// RoutedVeth is the wiring with a veth for each container, and host routes to the container.
type RoutedVeth struct{}

// Wire plans the pair, the host's routes to the container, and the container's routes through the
// gateway.
//
//	container                                host
//	eth0 10.0.0.5/32 ═══ veth ═══ hd… (gateway /32, permanent neighbour)
//	  halves of the subnet and default via the gateway
func (RoutedVeth) Wire(_ heddle.HostFacts, n heddle.Network, e heddle.Endpoint) (heddle.Plan, error) {
	port := e.ID.PortName()
	host := heddle.State{
		Links: []heddle.Link{{Name: port, Kind: "veth", MTU: e.MTU, MAC: e.ID.PortMAC(), Group: n.Group(),
			Alias: e.ID.Alias(), Peer: e.Interface(), PeerInPod: true, NoAutoAddress: true}},
		Elements: slices.Concat(firewall.RoutedGuard(n, e), firewall.Publish(e), firewall.AsksHost(n, e)),
	}
	if n.HasFamily(heddle.IPv4) {
		host.Sysctls = append(host.Sysctls, heddle.Sysctl{Name: "net/ipv4/conf/" + port + "/rp_filter", Value: "2"},
			// when the kernel answers an ARP request, it adds the sender to the host's neighbour
			// table, which all interfaces share; with arp_filter it answers only the container's
			// own addresses, since only these are routed to this port
			heddle.Sysctl{Name: "net/ipv4/conf/" + port + "/arp_filter", Value: "1"})
		host.Sysctls = append(host.Sysctls, heddle.LoopbackWay(port, e.Ports)...)
	}
	if n.HasFamily(heddle.IPv6) {
		host.Sysctls = append(host.Sysctls, heddle.Sysctl{Name: "net/ipv6/conf/" + port + "/accept_ra", Value: "0"})
		host.Addresses = append(host.Addresses, heddle.Address{Link: port, Prefix: gatewayLinkLocal})
	}
	for _, g := range n.Gateways {
		host.Addresses = append(host.Addresses, heddle.Address{Link: port, Prefix: heddle.Single(g)})
	}
	for _, a := range e.Sources() {
		host.Neighbours = append(host.Neighbours, heddle.Neighbour{Link: port, Addr: a, MAC: e.MAC})
	}
	for _, a := range e.Addrs {
		host.Routes = append(host.Routes, heddle.Route{Dst: heddle.Single(a.Addr()), Link: port})
	}
	host = heddle.Append(host, limits(n, e))
	host = heddle.Append(host, shortcuts(n, e, false))
	pod := routedPod(n, e)
	pod.Routes = append(pod.Routes, nameRoutes(n, e)...)
	return heddle.Plan{Host: host, Pod: pod}, nil
}

func routedPod(n heddle.Network, e heddle.Endpoint) heddle.State {
	link := heddle.Link{Name: e.Interface(), Kind: "veth", MTU: e.MTU, MAC: e.MAC, Alias: e.ID.Alias(), NoAutoAddress: true}
	s := podBasics(n, e, link)
	for _, a := range e.Addrs {
		gw, ok := n.GatewayFor(a.Addr())
		if !ok {
			continue
		}
		via := heddle.Route{Link: link.Name, Via: gw}
		s.Addresses = append(s.Addresses, heddle.Address{Link: link.Name, Prefix: heddle.Single(a.Addr())})
		s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: link.Name, Addr: gw, MAC: e.ID.PortMAC()})
		s.Routes = append(s.Routes, heddle.Route{Dst: heddle.Single(gw), Link: link.Name})
		for _, half := range subnetHalves(a) {
			via.Dst = half
			s.Routes = append(s.Routes, via)
		}
		if e.DefaultRoute && !n.Internal {
			via.Dst = heddle.FamilyOf(a.Addr()).Any()
			s.Routes = append(s.Routes, via)
		}
	}
	return s
}

// subnetHalves splits a subnet in two. Routes to both halves take precedence over a connected route
// to the whole subnet, without replacing it.
func subnetHalves(p netip.Prefix) [2]netip.Prefix {
	b := p.Masked().Addr().AsSlice()
	low := netip.PrefixFrom(p.Masked().Addr(), p.Bits()+1)
	b[p.Bits()/8] |= 0x80 >> (p.Bits() % 8)
	high, _ := netip.AddrFromSlice(b)
	return [2]netip.Prefix{low, netip.PrefixFrom(high, p.Bits()+1)}
}
