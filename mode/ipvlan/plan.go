package ipvlan

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/parts"
)

// servicePriority is the priority of the rules about services, within heddle's band. serviceTable
// has only unreachable routes.
const (
	servicePriority = heddle.RulePriorityFrom + 128
	serviceTable    = (heddle.RouteProtocol + 1) << 16
)

// Network plans the host's own device on the parent, and the redirects to services.
func (m Mode) Network(h heddle.HostFacts, n heddle.Network) (heddle.Plan, error) {
	if n.Parent == "" && m.ParentsOn(n) != "" { // what endpoints share is on each parent
		return heddle.Plan{Host: heddle.State{Firewall: firewall.Host()}}, nil
	}
	parent, ok := h.Link(n.Parent)
	if !ok {
		return heddle.Plan{}, parts.CheckParent(h, n)
	}
	slave := heddle.Slave(parent, subMode(n))
	s := heddle.State{Firewall: firewall.Host(), Links: []heddle.Link{slave}, Sysctls: sysctls(h, n, slave.Name)}
	for _, a := range nodeAddresses(h, n) {
		s.Addresses = append(s.Addresses, heddle.Address{Link: slave.Name, Prefix: heddle.Single(a), HostScope: a.Is4()})
	}
	s.Addresses = append(s.Addresses, parts.ResolverAddresses(h, n, slave.Name)...)
	s.Elements = beside(n, parent)
	all, err := services(n)
	if err != nil || len(all) == 0 {
		return heddle.Plan{Host: s}, err
	}
	s.Sysctls = append(s.Sysctls, parts.Forwarding(h, n)...)
	for _, p := range all {
		s = caught(s, n, slave.Name, p)
	}
	return heddle.Plan{Host: s}, nil
}

// caught redirects what containers send to a prefix to the host's device, and has it go nowhere else: without that, a packet that the
// host's rules have not rewritten would leave by the parent and be redirected again.
func caught(s heddle.State, n heddle.Network, slave string, p netip.Prefix) heddle.State {
	s = nowhere(s, slave, p)
	by := n.Options["redirect"]
	if by == "auto" {
		by = ""
	}
	s.Redirects = append(s.Redirects, heddle.Redirect{Link: n.Parent, To: slave, Prefix: p, By: by})
	return s
}

// nowhere has the host forward nothing to a prefix that comes in by an interface.
func nowhere(s heddle.State, from string, p netip.Prefix) heddle.State {
	none := heddle.Route{Dst: heddle.FamilyOf(p.Addr()).Any(), Type: "unreachable", Table: serviceTable}
	if !slices.Contains(s.Routes, none) {
		s.Routes = append(s.Routes, none)
	}
	s.Rules = append(s.Rules, heddle.Rule{Priority: servicePriority, Iif: from, To: p, Table: serviceTable})
	return s
}

// beside makes the host's guard check what containers send to the host through the parent: to the
// parent's MAC address, which is theirs, too, and any address of the host.
func beside(n heddle.Network, parent heddle.LinkFact) []heddle.Element {
	if subMode(n) != subL2 {
		return nil
	}
	return []heddle.Element{{Family: "inet", Set: "beside", Match: []string{parent.Name, string(parent.MAC)}}}
}

// sysctls make the slave accept what containers send to it, and answer no ARP: neither for the
// addresses of services (which IPVS has on a device of its own) nor for the node's, for which its
// own interface answers. What containers send to an address that the parent itself has arrives on
// the parent.
func sysctls(h heddle.HostFacts, n heddle.Network, slave string) []heddle.Sysctl {
	conf := "net/ipv4/conf/" + slave + "/"
	all := []heddle.Sysctl{{Name: conf + "rp_filter", Value: "2"}, {Name: conf + "arp_ignore", Value: "8"}, {Name: conf + "arp_announce", Value: "2"}}
	if heddle.OfFamily(ownAddresses(h, n), heddle.IPv4).IsValid() {
		all = append(all, heddle.Sysctl{Name: "net/ipv4/conf/" + n.Parent + "/rp_filter", Value: "2"})
	}
	if n.HasFamily(heddle.IPv6) {
		all = append(all, heddle.Sysctl{Name: "net/ipv6/conf/" + slave + "/accept_ra", Value: "0"})
	}
	return all
}

// nodeAddresses are the addresses that the slave gets: those of the interface with the default
// route. There are none if that is the parent: packets to its addresses would then arrive on the
// slave, among them the answers to the host's own ARP.
func nodeAddresses(h heddle.HostFacts, n heddle.Network) []netip.Addr {
	up, ok := h.Uplink(heddle.Network{})
	if !ok || up.Name == n.Parent {
		return nil
	}
	var all []netip.Addr
	for _, p := range up.Addrs {
		a := p.Addr()
		if n.HasFamily(heddle.FamilyOf(a)) && !a.IsLinkLocalUnicast() && !heddle.OfFamily(all, heddle.FamilyOf(a)).IsValid() {
			all = append(all, a)
		}
	}
	return all
}

// ownAddresses are the addresses that the parent itself has on the network: all, if the LAN's DHCP server says which
// network that is.
func ownAddresses(h heddle.HostFacts, n heddle.Network) (all []netip.Addr) {
	parent, _ := h.Link(n.Parent)
	if !n.FromDHCP() {
		return parts.AddressesOnLAN(parent, n)
	}
	for _, p := range parent.Addrs {
		if a := p.Addr(); n.HasFamily(heddle.FamilyOf(a)) && !a.IsLinkLocalUnicast() {
			all = append(all, a)
		}
	}
	return all
}

// Endpoint plans the container's device, and the routes between it and the host. In sub-mode l2
// both have each other's MAC address, which is the parent's, as a permanent neighbour, so no ARP is
// needed.
func (m Mode) Endpoint(h heddle.HostFacts, n heddle.Network, e heddle.Endpoint) (heddle.Plan, error) {
	n = n.LeasedTo(e)
	if err := lanRules.CheckPorts(e); err != nil {
		return heddle.Plan{}, err
	}
	parent, ok := h.Link(n.Parent)
	if !ok {
		return heddle.Plan{}, parts.CheckParent(h, n)
	}
	plan := heddle.Plan{Pod: pod(n, e)}
	if e.Parent != nil {
		plan.Pod.Routes = append(parts.ClosedRoutes(e, e.Parent.Closed), plan.Pod.Routes...)
	}
	beside := parts.AddressesBeside(parent, n, e)
	if n.FromDHCP() && len(beside) == 0 {
		return plan, nil // by the word of a server in the LAN the host sends nothing there
	}
	if e.Parent != nil {
		shared, err := m.onPlugged(h, n, *e.Parent)
		if err != nil {
			return heddle.Plan{}, err
		}
		plan.Host = shared
	}
	slave := heddle.Slave(parent, subMode(n)).Name
	plan.Host.Elements = slices.Concat(plan.Host.Elements, firewall.ErrorGuard(slave, e), firewall.ErrorGuard(parent.Name, e))
	hosts := append(nodeAddresses(h, n), beside...)
	for _, p := range e.Addrs {
		a := p.Addr()
		if subMode(n) == subL2 {
			plan.Host.Neighbours = append(plan.Host.Neighbours, heddle.Neighbour{Link: slave, Addr: a, MAC: parent.MAC})
		}
		plan.Host.Routes = append(plan.Host.Routes, heddle.Route{Dst: heddle.Single(a), Link: slave, Src: heddle.OfFamily(hosts, heddle.FamilyOf(a))})
	}
	for _, a := range hosts {
		plan.Pod = meet(plan.Pod, n, e, a, parent.MAC)
	}
	to := parent.MAC
	if subMode(n) != subL2 {
		to = ""
	}
	return plan.With(parts.WayToResolver(h, n, e, slave, parent.MAC, to)), nil
}

// meet gives the container a direct route to one of the host's addresses. The network's
// router would deliver the packets to the host on another interface.
func meet(s heddle.State, n heddle.Network, e heddle.Endpoint, host netip.Addr, mac heddle.MAC) heddle.State {
	subnet := heddle.OfFamily(addresses(e), heddle.FamilyOf(host))
	if !subnet.IsValid() {
		return s
	}
	if subMode(n) == subL2 {
		s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: e.Interface(), Addr: host, MAC: mac})
	}
	if !slices.ContainsFunc(e.Addrs, func(p netip.Prefix) bool { return p.Contains(host) }) {
		s.Routes = append(s.Routes, heddle.Route{Dst: heddle.Single(host), Link: e.Interface()})
	}
	return s
}

func addresses(e heddle.Endpoint) (all []netip.Addr) {
	for _, p := range e.Addrs {
		all = append(all, p.Addr())
	}
	return all
}

func pod(n heddle.Network, e heddle.Endpoint) heddle.State {
	link := heddle.Link{Name: e.Interface(), Kind: "ipvlan", Parent: n.Parent, SubMode: subMode(n), MTU: e.MTU,
		Group: n.Group(), Alias: e.ID.Alias(), NoAutoAddress: true}
	// the link-local address is derived from a MAC address that is the container's alone: two
	// devices on one parent may not have the same link-local address
	e.MAC = e.ID.DefaultMAC(n.ID, 0)
	s := parts.PodOnSubnet(n, e, link)
	if subMode(n) != subL2 { // the host routes, and there is no ARP
		for i := range s.Routes {
			s.Routes[i].Via = netip.Addr{}
		}
	}
	return s
}
