// Package ipvlan is the mode in which containers have IP addresses of their own behind their
// parent's MAC address. A cloud delivers such addresses to a NIC, and a wireless access point to a
// station.
//
//	container                            host
//	eth0 (one of the NIC's) ──┐
//	eth0 (one of the NIC's) ──┼── lan0 ── the network
//	hi… (the node's address) ─┘
//
// Packets between containers, and between containers and the network, bypass the host's stack. For
// packets between host and containers, the host has a device of its own beside them (the slave)
// with the node's address, and a route to each container through it. Services are addresses that
// only the host's rules know. What containers send to them is redirected on the parent's egress to
// the slave, where those rules see it. Replies come back to the node's address.
package ipvlan

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/parts"
)

// Mode is the ipvlan mode.
type Mode struct{ parts.SharedNICs }

func (Mode) Name() string { return "ipvlan" }

// options are all that the mode knows.
var options = []heddle.ModeOption{
	{Name: "ipvlan_mode", Values: "l2|l3|l3s", Text: "one for all networks on a parent"},
	parts.Addresses,
	{Name: "services", Values: "CIDR,…", Text: "go by the host's own rules (kube-proxy), l2 only"},
	{Name: "redirect", Values: "ebpf|u32", Text: "how; by default whichever the kernel can"},
	parts.Plug, parts.Warm,
	{Name: "ipvlan_flag", Values: "bridge", Text: "Docker's name for what is so anyway"},
}

// About describes the mode.
func (Mode) About() heddle.About {
	return heddle.About{Summary: "an address of its own behind the parent's MAC address, as clouds give several to a NIC; name those with --ip-range", Options: options}
}

// SharesParentSubnet is true: the containers have addresses of the parent's network.
func (Mode) SharesParentSubnet() bool { return true }

// CommonSubnet is true: several NICs of a host may be in one subnet, each with addresses of its
// own. The host has a route to each container.
func (Mode) CommonSubnet() bool { return true }

// The sub-modes (ip-link(8)).
const (
	subL2  = "l2"
	subL3  = "l3"
	subL3S = "l3s"
)

func subMode(n heddle.Network) string {
	if s := n.Options["ipvlan_mode"]; s != "" {
		return s
	}
	return subL2
}

// Complete takes the parent, the subnets and the routers from the host.
func (m Mode) Complete(h heddle.HostFacts, n heddle.Network) (heddle.Network, error) {
	if m.ParentsOn(n) != "" {
		return n, nil
	}
	return parts.OnLAN(h, n)
}

// MAC is the parent's MAC address, for all containers.
func (Mode) MAC(h heddle.HostFacts, n heddle.Network) heddle.MAC {
	parent, _ := h.Link(n.Parent)
	return parent.MAC
}

var lanRules = parts.LANWords{
	Container: "an ipvlan container", Network: "the parent's network",
	NameSubnet: "name the subnet with --subnet, and the router with --gateway",
}

// Check refuses what the parent or the sub-mode cannot provide.
func (m Mode) Check(h heddle.HostFacts, n heddle.Network) error {
	if err := parts.CheckParent(h, n); err != nil {
		return err
	}
	if err := checkOptions(n); err != nil {
		return err
	}
	if err := parts.CheckPlug(n); err != nil {
		return err
	}
	if m.ParentsOn(n) != "" {
		return m.checkPlug(h, n)
	}
	if err := lanRules.Check(h, n); err != nil {
		return err
	}
	if parent, _ := h.Link(n.Parent); subMode(n) != subL2 && len(n.Gateways) > 0 && len(parent.Gateways) == 0 {
		return heddle.Errorf(heddle.NoParent, "create network", n.Name,
			"in sub-mode "+subMode(n)+" the host routes for the containers, and it has no default route through "+n.Parent,
			"use ipvlan_mode=l2, or another parent")
	}
	if err := checkServices(h, n); err != nil {
		return err
	}
	return parts.CheckMTU(h, n)
}

func checkOptions(n heddle.Network) error {
	if err := parts.CheckOptions(n, options); err != nil {
		return err
	}
	bad := func(key, cause, remedy string) error {
		return parts.BadOption(n, key+"="+n.Options[key], cause, remedy)
	}
	if !slices.Contains([]string{subL2, subL3, subL3S}, subMode(n)) {
		return bad("ipvlan_mode", "there is no such sub-mode", "give l2, l3 or l3s")
	}
	if err := parts.CheckAddresses(n); err != nil {
		return err
	}
	switch {
	case n.FromDHCP() && subMode(n) != subL2:
		return bad("addresses", "in sub-mode "+subMode(n)+" nobody answers ARP for an address of the LAN", "use ipvlan_mode=l2")
	case n.FromDHCP() && n.Options["services"] != "":
		return bad("addresses", "services must not be in the containers' subnet, and the LAN's DHCP server says which one that is",
			"leave services out, or create the network with --subnet")
	}
	switch n.Options["ipvlan_flag"] {
	case "", "bridge":
	case "private", "vepa":
		return bad("ipvlan_flag", "it keeps the containers on a parent from each other, and from the host's own device there",
			"leave it out, or give bridge")
	default:
		return bad("ipvlan_flag", "there is no such flag", "give bridge, or leave it out")
	}
	if !slices.Contains([]string{"", "auto", "ebpf", "u32"}, n.Options["redirect"]) {
		return bad("redirect", "there is no such way to redirect", "give auto, ebpf or u32")
	}
	if n.Options["redirect"] != "" && n.Options["services"] == "" {
		return bad("redirect", "it says how services are reached, and none are named", "name them with services=CIDR,…")
	}
	return nil
}

// Beside refuses a parent with macvlan devices, or with ipvlan devices of another sub-mode, since
// the kernel has one sub-mode for all devices on a parent. It also refuses services of one network
// whose prefixes contain containers of the other network on the same parent.
func (Mode) Beside(n, other heddle.Network) error {
	switch {
	case n.Mode == "macvlan" || other.Mode == "macvlan":
		return parts.ParentConflict(n, other, "an interface carries either macvlan or ipvlan devices")
	case n.Mode == other.Mode && subMode(n) != subMode(other):
		return parts.ParentConflict(n, other, "the kernel has one ipvlan sub-mode for all on a parent: "+subMode(other)+" and not "+subMode(n))
	case n.Mode == other.Mode:
		for _, both := range [][2]heddle.Network{{n, other}, {other, n}} {
			if p := overlappingService(both[0], both[1]); p.IsValid() {
				return heddle.Errorf(heddle.PlanConflict, "create network", n.Name,
					"services="+p.String()+" of network "+both[0].Name+" would take what goes to the containers of network "+both[1].Name,
					"name services with addresses of their own")
			}
		}
	}
	return nil
}

// whoGives says what is not known about the containers' addresses.
func whoGives(n heddle.Network) string {
	if n.FromDHCP() {
		return parts.LimitDHCP
	}
	return "the network is not asked whether an address is in use: give out with --ip-range only what the cloud has given to this NIC, or what no DHCP server and no other host uses"
}

// Limits says what the host cannot control in mode ipvlan.
func (Mode) Limits(n heddle.Network) []string {
	all := []string{
		"no guard on this host sees the traffic between ipvlan neighbours: forged addresses of a container reach the parent's network; a cloud's switch drops those that it has not given to the NIC",
		"no published ports, no masquerade, no isolation from other networks: the containers are hosts of the parent's network at their own addresses",
		whoGives(n),
		"all containers have the parent's MAC address: DHCP tells them apart by client identifier only",
	}
	if n.Options["plug"] != "" {
		all = append(all, "the switch port behind a NIC lets all of its addresses pass: containers on one NIC can use each other's, and its first one")
	}
	if subMode(n) == subL2 {
		all = append(all, firewall.LimitUnderlay)
	} else {
		all = append(all, "in sub-mode "+subMode(n)+" no broadcast and no multicast reaches the containers, and the network's router needs a route to their addresses by this host",
			"in sub-mode "+subMode(n)+" what containers send to the host comes by the host's own routing: forged ICMP errors, and protocols that it is not asked for, are not told from its own")
	}
	if n.Options["services"] != "" {
		all = append(all, "services are reached if the host's rules masquerade what they send on (kube-proxy: --masquerade-all); 'heddle doctor' looks for it")
	}
	return all
}
