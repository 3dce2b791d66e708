// Package routed is the mode in which each container has a veth of its own, and the host routes a
// /32 and a /128 to it. There is no bridge, no neighbour discovery and no proxy.
//
//	container                                host
//	eth0 10.0.0.5/32 ═══ veth ═══ hd… (gateway /32, permanent neighbour)
//	  halves of the subnet and default via the gateway
//
// With a routing table of its own, the network's traffic leaves by its parent, whatever the main
// table says ("policy routing"):
//
//	to   SUBNET lookup main      containers are found by their host routes
//	from SUBNET lookup TABLE     default via the parent's next hop
//
// With parents that are plugged in, see plug.go.
package routed

import (
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/parts"
)

// Priorities of the rules, within heddle's band.
const (
	toPriority   = heddle.RulePriorityFrom
	fromPriority = heddle.RulePriorityFrom + 256
)

// mainTable is RT_TABLE_MAIN (include/uapi/linux/rtnetlink.h).
const mainTable = 254

// wiring is how the mode connects containers to the host.
var wiring parts.Wiring = parts.RoutedVeth{}

// Mode is the routed mode.
type Mode struct{ parts.SharedNICs }

func (Mode) Name() string { return "routed" }

// options are all that the mode knows.
var options = []heddle.ModeOption{
	parts.Hide,
	{Name: "table", Values: "auto|NUMBER", Text: "a routing table of its own, so that replies leave by the parent they came in by"},
	{Name: "next-hop", Values: "ADDRESS", Text: "the gateway in that table; two, of both families, with + between them"},
	parts.Plug, parts.Warm,
	parts.Engines, parts.FastPath, parts.BigTCP,
}

// About describes the mode.
func (Mode) About() heddle.About {
	return heddle.About{Summary: "a pair of interfaces and host routes, no bridge", Options: options}
}

// NeedsSubnet is true: the mode needs a subnet of its own.
func (Mode) NeedsSubnet() bool { return true }

// LimitsRates is true: all that a container sends and receives passes its port.
func (Mode) LimitsRates() bool { return true }

// SharesParentSubnet is true: the NIC of a cloud has several addresses of one subnet.
func (Mode) SharesParentSubnet() bool { return true }

// Check refuses networks without a subnet, and malformed options.
func (Mode) Check(h heddle.HostFacts, n heddle.Network) error {
	if err := parts.CheckOptions(n, options); err != nil {
		return err
	}
	if err := checkPlug(n); err != nil {
		return err
	}
	if len(n.Subnets) == 0 {
		return heddle.Errorf(heddle.BadSubnet, "create network", n.Name, "a routed network needs a subnet", "give one with --subnet")
	}
	if err := parts.CheckParent(h, n); err != nil {
		return err
	}
	if _, _, err := table(h, n); err != nil {
		return err
	}
	return parts.CheckMTU(h, n)
}

// table returns the number of the parent's own table (0: none) and the table's default routes.
func table(h heddle.HostFacts, n heddle.Network) (int, []heddle.Route, error) {
	option := n.Options["table"]
	if option == "" {
		if n.Options["next-hop"] != "" {
			return 0, nil, parts.BadOption(n, "next-hop="+heddle.Clip(n.Options["next-hop"]), "a next hop needs a routing table of its own", "add --opt table=auto, or leave next-hop out")
		}
		return 0, nil, nil
	}
	parent, ok := h.Link(n.Parent)
	if !ok {
		return 0, nil, heddle.Errorf(heddle.NoParent, "create network", n.Name, "a routing table of its own needs a parent", "name one with --parent")
	}
	number := autoTable(parent.Name)
	if option != "auto" {
		var err error
		if number, err = strconv.Atoi(option); err != nil || number < 1 || number > 1<<31-1 || (number >= 253 && number <= 255) {
			return 0, nil, parts.BadOption(n, "table="+heddle.Clip(option), "it is not a free table's number", "give auto, or a number that is not 253, 254 or 255")
		}
	}
	hops, err := nextHops(parent, n)
	if err != nil {
		return 0, nil, err
	}
	var routes []heddle.Route
	for _, subnet := range n.Subnets {
		i := slices.IndexFunc(hops, heddle.FamilyOf(subnet.Addr()).Has)
		if i < 0 {
			return 0, nil, heddle.Errorf(heddle.BadOption, "create network", n.Name,
				"no next hop through "+parent.Name+" is of the family of "+subnet.String(), "name one of each family with --opt next-hop=A+B")
		}
		routes = append(routes, heddle.Route{Dst: heddle.FamilyOf(hops[i]).Any(), Link: parent.Name, Via: hops[i], OnLink: true, Table: number})
	}
	return number, routes, nil
}

// autoTable derives a table's number from the parent's name, so that networks
// on one parent share it.
func autoTable(parent string) int {
	h := fnv.New32a()
	h.Write([]byte(parent))
	return heddle.RouteProtocol<<16 | int(h.Sum32()&0xffff)
}

func nextHops(parent heddle.LinkFact, n heddle.Network) ([]netip.Addr, error) {
	option := n.Options["next-hop"]
	if option == "" {
		if len(parent.Gateways) == 0 {
			return nil, heddle.Errorf(heddle.BadOption, "create network", n.Name,
				"its parent "+parent.Name+" has no default route", "name the next hop with --opt next-hop=ADDRESS")
		}
		return parent.Gateways, nil
	}
	var hops []netip.Addr
	for _, s := range strings.Split(option, "+") {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return nil, parts.BadOption(n, "next-hop="+heddle.Clip(option), strconv.Quote(heddle.Clip(s))+" is not an address", "give one address, or two joined by '+'")
		}
		if slices.ContainsFunc(hops, heddle.FamilyOf(a).Has) {
			return nil, parts.BadOption(n, "next-hop="+option, "it has two addresses of one family", "give one address of each family")
		}
		hops = append(hops, a)
	}
	return hops, nil
}

// masquerades reports whether the containers leave with the host's address.
func masquerades(n heddle.Network) bool { return n.Options["masquerade"] == "true" }

// Masquerades reports whether the containers leave with the host's address.
func (Mode) Masquerades(n heddle.Network) bool { return masquerades(n) }

// Limits says what the firewall does not prevent.
func (Mode) Limits(n heddle.Network) []string { return firewall.Limits(n, masquerades(n)) }

// Network plans the chains, the unreachable routes, and the parent's table with its rules.
func (m Mode) Network(h heddle.HostFacts, n heddle.Network) (heddle.Plan, error) {
	s := heddle.State{
		Firewall: append(firewall.Base(), firewall.RoutedChains(n, masquerades(n))...),
		Sysctls:  parts.Forwarding(h, n),
		Elements: slices.Concat(firewall.NetworkElements(n), firewall.RoutedElements(n), firewall.Allowed(n), firewall.Surroundings(h)),
	}
	if m.ParentsOn(n) != "" {
		s.Firewall = append(s.Firewall, firewall.NICChains()...)
		s.Rules = nearRules(n)
		return heddle.Plan{Host: s}, nil
	}
	s.Routes = parts.UnreachableSubnets(n)
	number, routes, err := table(h, n)
	if err != nil || number == 0 {
		return heddle.Plan{Host: s}, err
	}
	s.Routes = append(s.Routes, routes...)
	for _, subnet := range n.Subnets {
		s.Rules = append(s.Rules,
			heddle.Rule{Priority: toPriority, To: subnet, Table: mainTable},
			heddle.Rule{Priority: fromPriority, From: subnet, Table: number})
	}
	return heddle.Plan{Host: s}, nil
}

// Endpoint plans the pair, the host's routes to the container, and the container's routes through
// the gateway.
func (Mode) Endpoint(h heddle.HostFacts, n heddle.Network, e heddle.Endpoint) (heddle.Plan, error) {
	n = n.LeasedTo(e)
	p, err := wiring.Wire(h, n, e)
	if e.Parent != nil && e.Parent.Routed != nil {
		p.Host = heddle.Append(onPlugged(n, *e.Parent), heddle.Append(p.Host, ways(e)))
	}
	return parts.BigSegments(n, p), err
}
