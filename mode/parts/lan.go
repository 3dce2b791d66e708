package parts

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// Parts of the modes whose containers are on their parent's own LAN.

// OnLAN takes the parent, the subnets and the routers from the host if the user named none.
func OnLAN(h heddle.HostFacts, n heddle.Network) (heddle.Network, error) {
	parent, ok := h.Uplink(n)
	if !ok && n.Parent == "" {
		return n, heddle.Errorf(heddle.NoParent, "create network", n.Name, "no parent is named, and the host has no default route to take one from",
			"name an interface with --parent")
	}
	if !ok {
		return n, CheckParent(h, n)
	}
	n.Parent = parent.Name
	if n.FromDHCP() {
		return n, nil // each endpoint's lease says it
	}
	if len(n.Subnets) == 0 {
		n.Subnets = lanSubnets(parent)
	}
	if len(n.Gateways) == 0 {
		n.Gateways = routers(parent, n)
	}
	return n, nil
}

// LANWords are the words of a mode for errors that several modes share.
type LANWords struct {
	// Container is a container of the mode, Network the network that it is on: "the LAN".
	Container, Network string
	// NameSubnet is the remedy if the parent has no address to take the subnet from.
	NameSubnet string
}

// Check refuses a parent that cannot carry containers, and options that cannot be enforced against
// others on the LAN.
func (w LANWords) Check(h heddle.HostFacts, n heddle.Network) error {
	parent, _ := h.Link(n.Parent)
	switch {
	case len(n.Subnets) == 0 && !n.FromDHCP():
		return heddle.Errorf(heddle.BadSubnet, "create network", n.Name, "its parent "+n.Parent+" has no address to take a subnet from", w.NameSubnet)
	case n.Internal:
		return heddle.Errorf(heddle.BadOption, "create network", n.Name,
			"its containers are on "+w.Network+", and nothing on this host can keep them from it", "use mode bridge for an internal network")
	case parent.MAC == "":
		return heddle.Errorf(heddle.NoParent, "create network", n.Name,
			"its parent "+n.Parent+" has no MAC address, which "+w.Container+" needs", "name an Ethernet interface with --parent")
	case !parent.Up:
		return heddle.Errorf(heddle.NoParent, "create network", n.Name, "its parent "+n.Parent+" is down", "bring it up ('ip link set "+n.Parent+" up')")
	}
	return nil
}

// CheckPorts refuses published ports.
func (w LANWords) CheckPorts(e heddle.Endpoint) error {
	if len(e.Ports) == 0 {
		return nil
	}
	return heddle.Errorf(heddle.BadPort, "publish port", e.Ports[0].String()+" of endpoint "+e.ID.String(),
		w.Container+" is on "+w.Network+" at its own address and has all its ports there", "leave --publish out")
}

// ParentConflict refuses a network because of another one on the same parent.
func ParentConflict(n, other heddle.Network, cause string) error {
	return heddle.Errorf(heddle.PlanConflict, "create network", n.Name,
		"network "+other.Name+" is on the same parent "+n.Parent+", and "+cause, "give one of them another parent")
}

// lanSubnets are the first subnet of each family that the parent is in.
func lanSubnets(parent heddle.LinkFact) []netip.Prefix {
	var all []netip.Prefix
	for _, f := range heddle.Families() {
		i := slices.IndexFunc(parent.Addrs, func(p netip.Prefix) bool {
			return f.Has(p.Addr()) && !p.Addr().IsLinkLocalUnicast() && p.Addr().BitLen()-p.Bits() >= 2
		})
		if i >= 0 {
			all = append(all, parent.Addrs[i].Masked())
		}
	}
	return all
}

// routers are the parent's gateways that the containers can reach too.
func routers(parent heddle.LinkFact, n heddle.Network) []netip.Addr {
	var all []netip.Addr
	for _, s := range n.Subnets {
		i := slices.IndexFunc(parent.Gateways, func(g netip.Addr) bool {
			return s.Contains(g) || g.Is6() && g.IsLinkLocalUnicast() && s.Addr().Is6()
		})
		if i >= 0 {
			all = append(all, parent.Gateways[i])
		}
	}
	return all
}

// AddressesOnLAN are the host's own addresses on the network's LAN.
func AddressesOnLAN(parent heddle.LinkFact, n heddle.Network) []netip.Addr {
	var all []netip.Addr
	for _, p := range parent.Addrs {
		if slices.ContainsFunc(n.Subnets, func(s netip.Prefix) bool { return s.Contains(p.Addr()) }) {
			all = append(all, p.Addr())
		}
	}
	return all
}
