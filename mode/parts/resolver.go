package parts

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// The way of containers on a LAN to the host's resolver: through the device that the host has beside
// them (docs/adr/0035-names.md).

// ResolverAddrs are the addresses at which the network's containers ask for names.
func ResolverAddrs(h heddle.HostFacts, n heddle.Network) (all []netip.Addr) {
	for _, f := range heddle.Families() {
		if h.Resolves && n.HasFamily(f) {
			all = append(all, heddle.ResolverAddr(f))
		}
	}
	return all
}

// ResolverAddresses gives them to the host's device.
func ResolverAddresses(h heddle.HostFacts, n heddle.Network, device string) (all []heddle.Address) {
	for _, a := range ResolverAddrs(h, n) {
		all = append(all, heddle.Address{Link: device, Prefix: heddle.Single(a), HostScope: a.Is4()})
	}
	return all
}

// WayToResolver is the container's way to them through the host's device. Its packets come from the
// MAC address source, and go to the MAC address to, which is "" where there are no neighbours. An
// engine's containers ask the engine, which does more there than move the link.
func WayToResolver(h heddle.HostFacts, n heddle.Network, e heddle.Endpoint, device string, source, to heddle.MAC) (p heddle.Plan) {
	if e.Handover && !e.LinkOnly {
		return p
	}
	for _, own := range e.Addrs {
		a := heddle.OfFamily(ResolverAddrs(h, n), heddle.FamilyOf(own.Addr()))
		if !a.IsValid() {
			continue
		}
		p.Host.Elements = append(p.Host.Elements, firewall.Asks(device, source, own.Addr()))
		if slices.ContainsFunc(p.Pod.Routes, func(r heddle.Route) bool { return r.Dst == heddle.Single(a) }) {
			continue // an endpoint may have several addresses of a family
		}
		p.Pod.Routes = append(p.Pod.Routes, heddle.Route{Dst: heddle.Single(a), Link: e.Interface(), Metric: e.ID.Metric()})
		if to != "" {
			p.Pod.Neighbours = append(p.Pod.Neighbours, heddle.Neighbour{Link: e.Interface(), Addr: a, MAC: to})
		}
	}
	return p
}
