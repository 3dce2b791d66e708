package heddle

import "net/netip"

// gatewayLinkLocal is the link-local address of every routed endpoint's host end.
var gatewayLinkLocal = netip.MustParsePrefix("fe80::1/64")

// RoutedEndpoint plans an endpoint that hangs on a veth of its own and is routed:
// the pair, the host's routes to the container, and the container's through the
// gateway.
//
//	container                                host
//	eth0 10.0.0.5/32 ═══ veth ═══ hd… (gateway /32, permanent neighbour)
//	  halves of the subnet and default via the gateway
func RoutedEndpoint(n Network, e Endpoint) Plan {
	port := e.ID.PortName()
	host := State{
		Links: []Link{{Name: port, Kind: "veth", MTU: e.MTU, MAC: e.ID.PortMAC(), Group: n.Group(),
			Alias: e.ID.Alias(), Peer: e.Interface(), PeerInPod: true, NoAutoAddress: true}},
		Elements: append(RoutedGuard(n, e), Publish(e)...),
	}
	if n.HasFamily(IPv4) {
		host.Sysctls = append(host.Sysctls, Sysctl{Name: "net/ipv4/conf/" + port + "/rp_filter", Value: "2"},
			// to answer a request enters the asker into the host's neighbour table,
			// which is one for all interfaces: only the container's own addresses
			// are answered, for they are routed to this port
			Sysctl{Name: "net/ipv4/conf/" + port + "/arp_filter", Value: "1"})
		host.Sysctls = append(host.Sysctls, LoopbackWay(port, e.Ports)...)
	}
	if n.HasFamily(IPv6) {
		host.Sysctls = append(host.Sysctls, Sysctl{Name: "net/ipv6/conf/" + port + "/accept_ra", Value: "0"})
		host.Addresses = append(host.Addresses, Address{Link: port, Prefix: gatewayLinkLocal})
	}
	for _, g := range n.Gateways {
		host.Addresses = append(host.Addresses, Address{Link: port, Prefix: Single(g)})
	}
	for _, a := range e.Sources() {
		host.Neighbours = append(host.Neighbours, Neighbour{Link: port, Addr: a, MAC: e.MAC})
	}
	for _, a := range e.Addrs {
		host.Routes = append(host.Routes, Route{Dst: Single(a.Addr()), Link: port})
	}
	host = Append(host, shortcuts(n, e, false))
	return Plan{Host: host, Pod: routedPod(n, e)}
}

func routedPod(n Network, e Endpoint) State {
	link := Link{Name: e.Interface(), Kind: "veth", MTU: e.MTU, MAC: e.MAC, Alias: e.ID.Alias(), NoAutoAddress: true}
	s := PodBasics(n, e, link)
	for _, a := range e.Addrs {
		gw, ok := n.GatewayFor(a.Addr())
		if !ok {
			continue
		}
		via := Route{Link: link.Name, Via: gw}
		s.Addresses = append(s.Addresses, Address{Link: link.Name, Prefix: Single(a.Addr())})
		s.Neighbours = append(s.Neighbours, Neighbour{Link: link.Name, Addr: gw, MAC: e.ID.PortMAC()})
		s.Routes = append(s.Routes, Route{Dst: Single(gw), Link: link.Name})
		for _, half := range Halves(a) {
			via.Dst = half
			s.Routes = append(s.Routes, via)
		}
		if e.DefaultRoute && !n.Internal {
			via.Dst = FamilyOf(a.Addr()).Any()
			s.Routes = append(s.Routes, via)
		}
	}
	return s
}
