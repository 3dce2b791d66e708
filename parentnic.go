package heddle

import "net/netip"

// ParentNIC is a NIC of the host under the devices of several endpoints, each of which has one of its addresses. A provider has
// plugged it in.
type ParentNIC struct {
	// Name is the interface's on the host.
	Name string `json:"name"`
	MAC  MAC    `json:"mac"`
	MTU  int    `json:"mtu"`
	// Token is the name by which the provider knows the NIC.
	Token string `json:"token"`
	// Gateways are those of the NIC's network, at most one of each family.
	Gateways []netip.Addr `json:"gateways,omitempty"`
	// Closed are destinations that no container may reach by the NIC; see PluggedNIC.
	Closed []netip.Prefix `json:"closed,omitempty"`
}

// ParentPlugger is an optional interface of modes whose endpoints can share NICs that a provider plugs in.
type ParentPlugger interface {
	// ParentsOn is the provider's network on which NICs are plugged in; "" for a network whose parent is there.
	ParentsOn(Network) string
	// WarmAddresses is how many addresses are to be there before an endpoint asks for one.
	WarmAddresses(Network) int
}
