package macvlan

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/parts"
)

// Network plans the host's own device on the parent.
func (Mode) Network(h heddle.HostFacts, n heddle.Network) (heddle.Plan, error) {
	parent, ok := h.Link(n.Parent)
	if !ok || !wantsShim(n) {
		return heddle.Plan{}, parts.CheckParent(h, n)
	}
	shim := heddle.Shim(parent)
	s := heddle.State{Firewall: firewall.Host(), Links: []heddle.Link{shim}, Sysctls: []heddle.Sysctl{
		{Name: "net/ipv4/conf/" + shim.Name + "/arp_filter", Value: "1"},
		{Name: "net/ipv4/conf/" + shim.Name + "/rp_filter", Value: "2"},
	}}
	if n.HasFamily(heddle.IPv6) {
		s.Sysctls = append(s.Sysctls, heddle.Sysctl{Name: "net/ipv6/conf/" + shim.Name + "/accept_ra", Value: "0"})
	}
	s.Addresses = parts.ResolverAddresses(h, n, shim.Name)
	return heddle.Plan{Host: s}, nil
}

// Endpoint plans the container's device, and the host's route to it.
func (Mode) Endpoint(h heddle.HostFacts, n heddle.Network, e heddle.Endpoint) (heddle.Plan, error) {
	if err := lanRules.CheckPorts(e); err != nil {
		return heddle.Plan{}, err
	}
	n = n.LeasedTo(e)
	if subMode(n) == subPassthru && e.Slot > 0 {
		return heddle.Plan{}, heddle.Errorf(heddle.PlanConflict, "attach endpoint", e.ID.String(),
			"network "+n.Name+" is passthru: it has room for one container, and has one", "detach that one first")
	}
	parent, ok := h.Link(n.Parent)
	plan := heddle.Plan{Pod: pod(n, e)}
	if !ok || !wantsShim(n) {
		return plan, parts.CheckParent(h, n)
	}
	hostAddrs := parts.AddressesBeside(parent, n, e)
	if n.FromDHCP() && len(hostAddrs) == 0 {
		return plan, nil // by the word of a server in the LAN the host sends nothing there
	}
	e = parts.Beside(parent, n, e)
	shim := heddle.Shim(parent)
	plan = plan.With(parts.WayToResolver(h, n, e, shim.Name, e.MAC, shim.MAC))
	plan.Host.Elements = append(plan.Host.Elements, firewall.ErrorGuard(shim.Name, e)...)
	for _, a := range e.Addrs {
		ip := a.Addr()
		src := heddle.OfFamily(append(slices.Clone(hostAddrs), parts.ResolverAddrs(h, n)...), heddle.FamilyOf(ip))
		if !src.IsValid() {
			continue
		}
		plan.Host.Neighbours = append(plan.Host.Neighbours, heddle.Neighbour{Link: shim.Name, Addr: ip, MAC: e.MAC})
		plan.Host.Routes = append(plan.Host.Routes, heddle.Route{Dst: heddle.Single(ip), Link: shim.Name, Src: src})
	}
	for _, ip := range hostAddrs {
		// ARP finds the shim by itself. There is no such filter for neighbour discovery, so the
		// shim has none of the LAN, and the container has a permanent neighbour
		if ip.Is6() {
			plan.Pod.Neighbours = append(plan.Pod.Neighbours, heddle.Neighbour{Link: e.Interface(), Addr: ip, MAC: shim.MAC})
		}
	}
	return plan, nil
}

func pod(n heddle.Network, e heddle.Endpoint) heddle.State {
	link := heddle.Link{Name: e.Interface(), Kind: "macvlan", Parent: n.Parent, SubMode: subMode(n), MTU: e.MTU, MAC: e.MAC,
		Group: n.Group(), Alias: e.ID.Alias(), NoAutoAddress: true}
	return parts.PodOnSubnet(n, e, link)
}
