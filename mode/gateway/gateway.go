// Package gateway is the mode of the two networks that are a VPC's way out by its host: one of the host's agent (OfHost), and one of the VPC's
// own (OfVPC). A link joins their namespaces, with a subnet that overlaps nothing on the host, which has two addresses: the host's, to which
// the VPC's routes lead, and the VPC's, behind which all of the VPC hides. The host hides that one behind its own.
//
//	VPC red                                                      host
//	hb… (lan) ── forward ── masquerade ── hdv… ═══ veth ═══ hdv… ── forward ── masquerade ── uplink
//
// Neither has endpoints. The host's agent makes the link, and the VPC's takes its end over.
package gateway

import (
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/parts"
)

// OptionVPC is the option of the host's network that names the VPC.
const OptionVPC = "vpc"

// half is what both modes have in common.
type half struct{}

func (half) Name() string { return heddle.ModeGateway }

// HasNoEndpoints says that the modes are heddle.Endless.
func (half) HasNoEndpoints() {}

// Endpoint refuses endpoints.
func (half) Endpoint(_ heddle.HostFacts, n heddle.Network, _ heddle.Endpoint) (heddle.Plan, error) {
	return heddle.Plan{}, heddle.Errorf(heddle.BadArgument, "attach to network", n.Name, "it is a VPC's way out", "choose another network")
}

func (half) check(n heddle.Network, known []heddle.ModeOption) error {
	if err := parts.CheckOptions(n, known); err != nil {
		return err
	}
	if len(n.Subnets) == 0 {
		return heddle.Errorf(heddle.BadSubnet, "create network", n.Name, "a way out needs the subnet of its link", "use 'heddle vpc route add VPC DESTINATION --next-hop host'")
	}
	if n.Parent != "" || n.Internal || len(n.Ranges) > 0 {
		return heddle.Errorf(heddle.BadOption, "create network", n.Name, "it has no endpoints, and leads wherever the host's routes do", "leave --parent, --internal and --ip-range out")
	}
	for i, g := range n.Gateways { // none before the agent has completed it
		if s := n.Subnets[i]; g != s.Addr().Next() {
			return heddle.Errorf(heddle.BadAddress, "create network", n.Name, "the host has the first address of its subnet "+s.String(), "leave --gateway out")
		}
	}
	return nil
}

// Inside is the VPC's own address of a gateway's family on the link.
func Inside(gateway netip.Addr) netip.Addr { return gateway.Next() }

// insides are the VPC's own addresses on the link.
func insides(n heddle.Network) (all []netip.Addr) {
	for _, g := range n.Gateways {
		all = append(all, Inside(g))
	}
	return all
}

// end plans one end of the link: the device with its addresses, and the other end's as permanent neighbours, so that nobody asks on the link.
func end(h heddle.HostFacts, n heddle.Network, link heddle.Link, far heddle.MAC, inside bool) heddle.State {
	link.Kind, link.MTU, link.Group, link.Alias, link.NoAutoAddress = "veth", parts.ResolveMTU(h, n), n.Group(), n.Alias(), true
	s := heddle.State{Links: []heddle.Link{link}, Sysctls: parts.Forwarding(h, n)}
	for i, g := range n.Gateways {
		own, other := g, Inside(g)
		if inside {
			own, other = other, own
		}
		s.Addresses = append(s.Addresses, heddle.Address{Link: link.Name, Prefix: netip.PrefixFrom(own, n.Subnets[i].Bits())})
		s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: link.Name, Addr: other, MAC: far})
	}
	if n.HasFamily(heddle.IPv6) {
		s.Sysctls = append(s.Sysctls, heddle.Sysctl{Name: "net/ipv6/conf/" + link.Name + "/accept_ra", Value: "0"})
	}
	s.Elements = append(firewall.Allowed(n), firewall.Surroundings(h)...)
	return s
}
