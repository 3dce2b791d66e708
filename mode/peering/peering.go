// Package peering is the mode of a VPC's networks that are those of another VPC: a link leads to that VPC's namespace, and routes by it to
// exactly its subnets. It has no endpoints here. Whoever of this VPC is to be reached from there, and to reach it, is said as between
// any two networks ('heddle network allow'). A peering works when both VPCs have it.
//
//	VPC red                                  VPC blue
//	hb… (lan) ── forward ── hp… ═══ veth ═══ hp… ── forward ── hb… (db)
package peering

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/parts"
)

// The options: the other VPC, and its subnets.
const (
	OptionPeer    = "peer"
	OptionSubnets = "subnets"
)

var options = []heddle.ModeOption{
	{Name: OptionPeer, Values: "VPC", Text: "the other VPC"},
	{Name: OptionSubnets, Values: "CIDR+CIDR", Text: "the subnets of its networks, which lie within the network's own"},
}

// linkMTU is the largest of a veth. Networks have less, and the path MTU is theirs.
const linkMTU = 65535

// The next hops, which are the link's other end on both sides. Permanent neighbours say its MAC address, so nobody asks for it.
var hop4, hop6 = netip.MustParseAddr("169.254.104.1"), netip.MustParseAddr("fe80::1")

// Mode is the peering mode of the VPC's agent.
type Mode struct{ VPC string }

func (Mode) Name() string { return heddle.ModePeering }

// HasNoEndpoints says that the mode is heddle.Endless.
func (Mode) HasNoEndpoints() {}

// About describes the mode.
func (Mode) About() heddle.About {
	return heddle.About{Summary: "the networks of another VPC, to which a link leads", Options: options}
}

// Check refuses what is no other VPC, and subnets outside the network's.
func (m Mode) Check(_ heddle.HostFacts, n heddle.Network) error {
	if err := parts.CheckOptions(n, options); err != nil {
		return err
	}
	peer := n.Options[OptionPeer]
	if err := heddle.CheckVPCName(peer); err != nil {
		return err
	}
	if peer == m.VPC {
		return parts.BadOption(n, OptionPeer+"="+peer, "it is this VPC", "name another one")
	}
	if len(n.Subnets) == 0 {
		return heddle.Errorf(heddle.BadSubnet, "create network", n.Name, "a peering needs the range of the other VPC's subnets", "use 'heddle vpc peer'")
	}
	if n.Parent != "" || n.MTU != 0 || len(n.Ranges) > 0 {
		return heddle.Errorf(heddle.BadOption, "create network", n.Name, "the networks are another VPC's", "leave --parent, --mtu and --ip-range out")
	}
	_, err := subnets(n)
	return err
}

// subnets reads option subnets.
func subnets(n heddle.Network) (all []netip.Prefix, err error) {
	for _, s := range strings.Split(n.Options[OptionSubnets], "+") {
		p, err := netip.ParsePrefix(s)
		if err != nil || p != p.Masked() || !slices.ContainsFunc(n.Subnets, func(o netip.Prefix) bool { return o.Bits() <= p.Bits() && o.Contains(p.Addr()) }) {
			return nil, parts.BadOption(n, OptionSubnets, fmt.Sprintf("%q is no prefix within the network's subnets", heddle.Clip(s)), "use 'heddle vpc peer'")
		}
		all = append(all, p)
	}
	return all, nil
}

// Network plans this VPC's end of the link, and what it is for.
func (m Mode) Network(h heddle.HostFacts, n heddle.Network) (heddle.Plan, error) {
	to, err := subnets(n)
	if err != nil {
		return heddle.Plan{}, err
	}
	peer := n.Options[OptionPeer]
	link, mac := heddle.PeeringLink(m.VPC, peer)
	far, farMAC := heddle.PeeringLink(peer, m.VPC)
	s := heddle.State{
		Firewall: append(firewall.Base(), firewall.PeeringChains(n, to)...),
		Links: []heddle.Link{{Name: link, Kind: "veth", MTU: linkMTU, MAC: mac, Group: n.Group(), Alias: n.Alias(), NoAutoAddress: true,
			Peer: far, PeerNetns: heddle.VPCNetns(peer)}},
		Sysctls:  parts.Forwarding(h, n),
		Elements: append(firewall.PeeringElements(n), firewall.Surroundings(h)...),
	}
	for _, p := range to {
		r := heddle.Route{Dst: p, Link: link, Via: hop6}
		if p.Addr().Is4() {
			r.Via, r.OnLink = hop4, true
		}
		s.Routes = append(s.Routes, r)
	}
	if n.HasFamily(heddle.IPv4) {
		s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: link, Addr: hop4, MAC: farMAC})
		s.Sysctls = append(s.Sysctls, heddle.Sysctl{Name: "net/ipv4/conf/" + link + "/rp_filter", Value: "1"})
	}
	if n.HasFamily(heddle.IPv6) {
		s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: link, Addr: hop6, MAC: farMAC})
		s.Sysctls = append(s.Sysctls, heddle.Sysctl{Name: "net/ipv6/conf/" + link + "/accept_ra", Value: "0"})
	}
	return heddle.Plan{Host: s}, nil
}

// Endpoint refuses endpoints.
func (Mode) Endpoint(_ heddle.HostFacts, n heddle.Network, _ heddle.Endpoint) (heddle.Plan, error) {
	return heddle.Plan{}, heddle.Errorf(heddle.BadArgument, "attach to network", n.Name, "it is that of another VPC", "choose a network of this VPC")
}
