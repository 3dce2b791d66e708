// Package direct is the mode in which a container gets a whole NIC of the host. The NIC is moved
// into the container's namespace and renamed. When the endpoint is removed, the NIC comes back as
// it was.
//
//	container            host
//	eth0  ◀── moved ──   eth1   (and back: name, addresses, routes, settings)
//
// A NIC may also be plugged in for the endpoint, by a provider (--opt plug=NETWORK), which says what its addresses are.
//
// With a subnet the container's address comes from it. Without a subnet the NIC keeps the addresses
// and routes that it had on the host.
package direct

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/parts"
)

// Mode is the direct mode.
type Mode struct{}

func (Mode) Name() string { return "direct" }

// options are all that the mode knows.
var options = []heddle.ModeOption{
	parts.Addresses,
	{Name: "nics", Values: "NAME,MAC,…", Text: "several; each attach gets the first free one"},
	{Name: "plug", Values: "NETWORK", Text: "NICs are plugged in on this network of their provider, and out again"},
	{Name: "driver", Values: heddle.VFIODriver, Text: "a program of the container drives the NIC itself (DPDK); with plug alone"},
	{Name: "warm", Values: "N or MIN-MAX", Text: "keep that many NICs plugged in for the next endpoints; with plug alone"},
}

// About describes the mode.
func (Mode) About() heddle.About {
	return heddle.About{Summary: "a NIC of the host as a whole (--parent), moved into the container and back", Options: options}
}

// SharesParentSubnet is true: a NIC is useful in its own subnet.
func (Mode) SharesParentSubnet() bool { return true }

// Pool lists the network's NICs: the parent, then those of the option nics.
func (Mode) Pool(n heddle.Network) []string {
	var all []string
	if n.Parent != "" {
		all = append(all, n.Parent)
	}
	if list := n.Options["nics"]; list != "" {
		all = append(all, strings.Split(list, ",")...)
	}
	for i, name := range all {
		if mac, err := heddle.ParseMAC(name); err == nil {
			all[i] = string(mac)
		}
	}
	return all
}

// findNIC returns the interface that a member of a pool names.
func findNIC(h heddle.HostFacts, member string) (heddle.LinkFact, bool) {
	for _, l := range h.Links {
		if l.Name == member || string(l.MAC) == member {
			return l, true
		}
	}
	return heddle.LinkFact{}, false
}

// Check refuses an empty pool, members that the host does not have, and options that need a host
// that sees the traffic.
func (m Mode) Check(h heddle.HostFacts, n heddle.Network) error {
	pool, plug := m.Pool(n), m.PlugsOn(n)
	switch {
	case plug != "" && len(pool) > 0:
		return heddle.Errorf(heddle.BadOption, "create network", n.Name, "its NICs are plugged in, and others are named as well",
			"leave --parent and --opt nics out, or --opt plug")
	case plug != "" && len(n.Subnets) > 0:
		return heddle.Errorf(heddle.BadSubnet, "create network", n.Name, "who plugs a NIC in says what its addresses are",
			"leave --subnet, --gateway and --ip-range out")
	case len(pool) == 0 && plug == "":
		return heddle.Errorf(heddle.NoParent, "create network", n.Name, "a direct network needs a NIC",
			"name one with --parent, several with --opt nics=NAME,MAC,…, or a network to plug them in on with --opt plug=NETWORK")
	case n.Internal:
		return heddle.Errorf(heddle.BadOption, "create network", n.Name, "the host does not see a moved NIC's traffic, and cannot keep it in", "leave --internal out")
	case n.MTU != 0:
		return heddle.Errorf(heddle.BadMTU, "create network", n.Name, "a moved NIC keeps its MTU", "leave --mtu out, and set it with 'ip link set … mtu'")
	}
	if err := parts.CheckOptions(n, options); err != nil {
		return err
	}
	if err := parts.CheckAddresses(n); err != nil {
		return err
	}
	if err := m.checkPlugs(n); err != nil || plug != "" {
		return err
	}
	seen := map[string]bool{}
	for _, member := range pool {
		l, known := findNIC(h, member)
		if !known {
			return heddle.Errorf(heddle.NoParent, "create network", n.Name, "the host has no NIC "+heddle.Clip(member), "name interfaces or MAC addresses that 'ip link' lists")
		}
		if seen[l.Name] {
			return heddle.Errorf(heddle.BadOption, "create network", n.Name, "NIC "+l.Name+" is named twice", "name each NIC once")
		}
		seen[l.Name] = true
	}
	return nil
}

// Complete takes missing gateways from the NICs' own default routes, and reserves the NICs'
// addresses: a NIC that is on the host uses its address.
func (m Mode) Complete(h heddle.HostFacts, n heddle.Network) (heddle.Network, error) {
	if err := m.Check(h, n); err != nil {
		return n, err
	}
	n.Reserved = slices.Clone(n.Reserved)
	asked := len(n.Reserved)
	for _, subnet := range n.Subnets {
		given := slices.ContainsFunc(n.Gateways, heddle.FamilyOf(subnet.Addr()).Has)
		for _, member := range m.Pool(n) {
			l, _ := findNIC(h, member)
			for _, a := range l.Addrs {
				if subnet.Contains(a.Addr()) && !slices.Contains(n.Reserved, a.Addr()) && !slices.Contains(n.Gateways, a.Addr()) {
					n.Reserved = append(n.Reserved, a.Addr())
				}
			}
			for _, g := range l.Gateways {
				if !given && subnet.Contains(g) {
					n.Gateways, given = append(slices.Clone(n.Gateways), g), true
				}
			}
		}
		if !given {
			return n, heddle.Errorf(heddle.BadSubnet, "create network", n.Name, "its NICs have no default route through "+subnet.String(),
				"name the LAN's router with --gateway")
		}
	}
	slices.SortFunc(n.Reserved[asked:], netip.Addr.Compare)
	return n, nil
}

// Network plans nothing: the NICs belong to the host until a container gets one.
func (Mode) Network(heddle.HostFacts, heddle.Network) (heddle.Plan, error) {
	return heddle.Plan{}, nil
}

// Endpoint plans the move of the endpoint's NIC, and the state of the NIC in the container.
func (Mode) Endpoint(_ heddle.HostFacts, n heddle.Network, e heddle.Endpoint) (heddle.Plan, error) {
	if e.NIC == nil {
		return heddle.Plan{}, heddle.Errorf(heddle.NICTaken, "attach endpoint", e.ID.String(), "it was given no NIC", "detach it and attach it again")
	}
	var s heddle.State
	switch {
	case e.ProgramDrives():
		s.Links = []heddle.Link{{Name: "lo"}}
	case e.NIC.Plugged != nil:
		s = stateOnSubnet(pluggedNetwork(n, e), e)
		s.Routes = append(parts.ClosedRoutes(e, e.NIC.Plugged.Closed), s.Routes...)
	case len(n.Subnets) > 0, n.FromDHCP():
		s = stateOnSubnet(n.LeasedTo(e), e)
	default:
		s = stateAsOnHost(e)
	}
	nic := *e.NIC
	nic.IfName, nic.Alias = e.Interface(), e.ID.NICAlias(nic.Name)
	s.NICs = []heddle.NIC{nic}
	return heddle.Plan{Pod: s}, nil
}

// pluggedNetwork is the network with the subnets and gateways of the endpoint's plugged NIC: as its provider says, or a DHCP server.
func pluggedNetwork(n heddle.Network, e heddle.Endpoint) heddle.Network {
	if n.FromDHCP() {
		return n.LeasedTo(e)
	}
	for _, a := range e.Addrs {
		n.Subnets = append(n.Subnets, a.Masked())
	}
	n.Gateways = e.NIC.Plugged.Gateways
	return n
}

// stateOnSubnet gives the NIC the endpoint's addresses.
func stateOnSubnet(n heddle.Network, e heddle.Endpoint) heddle.State {
	link := e.Interface()
	s := parts.PodOnSubnet(n, e, heddle.Link{Name: link})
	if n.HasFamily(heddle.IPv6) {
		s.Sysctls = append(s.Sysctls, noAutoAddress(link))
	}
	return s
}

func noAutoAddress(link string) heddle.Sysctl {
	return heddle.Sysctl{Name: "net/ipv6/conf/" + link + "/addr_gen_mode", Value: "1"}
}

// Limits says what the host cannot enforce for a NIC that has left its namespace.
func (m Mode) Limits(n heddle.Network) []string {
	switch {
	case m.DriverOf(n) != "":
		return []string{
			"no kernel sees the containers' traffic but the hypervisor's: the switch port behind each NIC keeps them from using foreign addresses",
			"no ports are published here, no names are answered here, and what is closed to containers elsewhere by a route of theirs, such as a cloud's metadata service, is open",
			"each NIC takes one of the machine's slots",
			"a program that keeps its NIC open keeps its endpoint from ending; if the hypervisor takes such a NIC out, the machine plugs no other in or out until the program lets go",
			"who could open a group's device file of an ended endpoint can open that of the next one with the same number: end the container with its endpoint",
		}
	case m.PlugsOn(n) != "":
		all := []string{
			"the host sees none of the containers' traffic: the switch port behind each NIC, on the hypervisor, keeps them from using foreign addresses",
			"no ports are published here, and no names are answered here",
			"each NIC takes one of the machine's slots",
			"a route keeps containers from a cloud's metadata service; one with CAP_NET_ADMIN can remove it, so give the instance's role no right but those that the agent needs",
		}
		if n.FromDHCP() {
			all = append(all, parts.LimitDHCP)
		}
		return all
	}
	all := []string{
		"the host sees none of the containers' traffic: it cannot keep them from using foreign MAC or IP addresses, from ARP and router advertisement spoofing, or from reaching the LAN's metadata service",
		"no ports are published, and other networks of this host are reached through the LAN only",
		"no names are answered here, as the host has no way to a NIC that a container has: a container that is on another network as well asks there",
		"while a container has a NIC, the host and its other containers do not have it",
	}
	if n.FromDHCP() {
		all = append(all, parts.LimitDHCP)
	}
	return all
}
