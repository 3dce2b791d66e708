package direct

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// Constants of linux/rtnetlink.h.
const (
	unicast   = 1
	mainTable = 254
	byKernel  = 2
	mtuMetric = 2 // RTAX_MTU
)

// stateAsOnHost gives the NIC in the container the addresses that it had on the host, and the
// routes that somebody made. IPv6 is off if the NIC had only the address that the kernel makes.
func stateAsOnHost(e heddle.Endpoint) heddle.State {
	link, was := e.Interface(), e.NIC.Was
	s := heddle.State{Links: []heddle.Link{{Name: "lo"}, {Name: link}}}
	conf := "net/ipv6/conf/" + link + "/"
	if hasIPv6(was) {
		s.Sysctls = []heddle.Sysctl{{Name: conf + "accept_ra", Value: "0"}, noAutoAddress(link)}
	} else {
		s.Sysctls = []heddle.Sysctl{{Name: conf + "disable_ipv6", Value: "1"}}
	}
	linkLocal := false
	for _, a := range was.Addrs {
		if a.Prefix.Addr().Is6() && !hasIPv6(was) {
			continue
		}
		linkLocal = linkLocal || a.Prefix.Addr().Is6() && a.Prefix.Addr().IsLinkLocalUnicast()
		if a.Peer.IsValid() {
			s.Addresses = append(s.Addresses, heddle.Address{Link: link, Prefix: heddle.Single(a.Prefix.Addr())})
			s.Routes = append(s.Routes, heddle.Route{Dst: netip.PrefixFrom(a.Peer, a.Prefix.Bits()).Masked(), Link: link})
			continue
		}
		s.Addresses = append(s.Addresses, heddle.Address{Link: link, Prefix: a.Prefix})
	}
	if hasIPv6(was) && !linkLocal {
		s.Addresses = append(s.Addresses, heddle.Address{Link: link, Prefix: netip.PrefixFrom(e.MAC.LinkLocal(), 64)})
	}
	s.Routes = append(s.Routes, routesAsOnHost(e)...)
	return s
}

// hasIPv6 reports whether the NIC had an IPv6 address that is not link-local.
func hasIPv6(was heddle.NICState) bool {
	return slices.ContainsFunc(was.Addrs, func(a heddle.NICAddress) bool {
		return a.Prefix.Addr().Is6() && !a.Prefix.Addr().IsLinkLocalUnicast()
	})
}

// routesAsOnHost are the routes that a plan can express. Routes that others depend on come first.
// The default route is left out if another interface of the container has it.
func routesAsOnHost(e heddle.Endpoint) []heddle.Route {
	var direct, through []heddle.Route
	for _, r := range e.NIC.Was.Routes {
		v6 := r.Dst.Addr().Is6()
		switch {
		case r.Type != unicast || r.Protocol == byKernel:
			continue
		case v6 && !hasIPv6(e.NIC.Was), r.Via.IsValid() && r.Via.Is6() != v6:
			continue
		case r.Dst.Bits() == 0 && r.Table == mainTable && !e.DefaultRoute:
			continue
		}
		x := heddle.Route{Dst: r.Dst, Link: e.Interface(), Via: r.Via, OnLink: r.OnLink, Src: r.Src, MTU: int(r.Metrics[mtuMetric]), Metric: r.Metric}
		if r.Table != mainTable {
			x.Table = int(r.Table)
		}
		if r.Via.IsValid() {
			through = append(through, x)
		} else {
			direct = append(direct, x)
		}
	}
	return append(direct, through...)
}
