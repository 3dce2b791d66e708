package heddle

import "net/netip"

// ParentNIC is a NIC of the host under the devices of several endpoints, each of which has one of its addresses. A provider has
// plugged it in.
type ParentNIC struct {
	// Name is the interface's on the host.
	Name string `json:"name"`
	MAC  MAC    `json:"mac"`
	MTU  int    `json:"mtu"`
	// Routed is what the host needs to route for the endpoints; nil if they are on the NIC's network themselves.
	Routed *RoutedNIC `json:"routed,omitempty"`
	// Token is the name by which the provider knows the NIC.
	Token string `json:"token"`
	// Gateways are those of the NIC's network, at most one of each family.
	Gateways []netip.Addr `json:"gateways,omitempty"`
	// Closed are destinations that no container may reach by the NIC; see PluggedNIC.
	Closed []netip.Prefix `json:"closed,omitempty"`
}

// RoutedNIC is what the host has of a NIC by which it routes for endpoints.
type RoutedNIC struct {
	// Addrs are the NIC's first addresses, at most one of each family, with the lengths of the network's subnets. The host has them, and is the endpoints'
	// gateway by them.
	Addrs []netip.Prefix `json:"addrs"`
	// Table is the number of the routing table for what leaves by the NIC. No other NIC has it.
	Table int `json:"table"`
}

// gateways are the endpoints' next hops.
func (p ParentNIC) gateways() []netip.Addr {
	if p.Routed == nil {
		return p.Gateways
	}
	var all []netip.Addr
	for _, a := range p.Routed.Addrs {
		all = append(all, a.Addr())
	}
	return all
}

// ParentTables is the first number of the routing tables of NICs that endpoints share.
const ParentTables = (RouteProtocol + 2) << 16

// ParentPlugger is an optional interface of modes whose endpoints can share NICs that a provider plugs in.
type ParentPlugger interface {
	// ParentsOn is the provider's network on which NICs are plugged in; "" for a network whose parent is there.
	ParentsOn(Network) string
	// WarmAddresses is how many addresses are to be there before an endpoint asks for one.
	WarmAddresses(Network) int
	// RoutesOnParents reports whether the host has the NICs' first addresses, and routes for the endpoints.
	RoutesOnParents() bool
}

// PlugsParents returns the mode as one whose networks can have their parents plugged in, and whether this network has.
func PlugsParents(m Mode, n Network) (p ParentPlugger, plugs bool) {
	p, is := m.(ParentPlugger)
	return p, is && p.ParentsOn(n) != ""
}
