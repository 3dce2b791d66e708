// Package macvlan is the mode in which each container has a MAC address of its own on the parent's
// LAN, as a neighbour of the host's neighbours.
//
//	container                       host
//	eth0 (LAN address) ──┐
//	eth0 (LAN address) ──┼── lan0 ── the LAN
//	hm… (the host's end) ┘
//
// The kernel forwards no packets between a parent and the macvlan devices on it. So that host and
// containers can reach each other, the host has a device of its own beside them (the shim), and a
// route to each container through it. The shim answers ARP for the host's address only to
// neighbours that the host reaches through it (arp_filter), and sends no ARP itself (permanent
// neighbours). So the LAN sees one MAC address for the host.
package macvlan

import (
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/parts"
)

// Mode is the macvlan mode.
type Mode struct{}

func (Mode) Name() string { return "macvlan" }

// options are all that the mode knows.
var options = []heddle.ModeOption{
	{Name: "macvlan_mode", Values: "bridge|private|vepa|passthru", Text: "how devices on one parent reach each other"},
	parts.Addresses,
	parts.IPv6,
	{Name: "host-access", Values: "false", Text: "host and containers need not reach each other"},
}

// About describes the mode.
func (Mode) About() heddle.About {
	return heddle.About{Summary: "a MAC address of its own on the LAN of the parent", Options: options}
}

// SharesParentSubnet is true: the containers have addresses of the LAN.
func (Mode) SharesParentSubnet() bool { return true }

// The sub-modes (ip-link(8)), and the reasons why the host cannot have a device beside the
// containers in them.
const (
	subBridge   = "bridge"
	subPrivate  = "private"
	subVEPA     = "vepa"
	subPassthru = "passthru"
)

var noHostAccess = map[string]string{
	subPrivate:  "a private device is kept from all others on its parent, one of the host's own too",
	subVEPA:     "a vepa device sends all frames out to the switch, and only a reflecting switch (IEEE 802.1Qbg) sends them back",
	subPassthru: "a passthru device takes its parent over, and no second one may stand there",
}

func subMode(n heddle.Network) string {
	if s := n.Options["macvlan_mode"]; s != "" {
		return s
	}
	return subBridge
}

// Complete takes the parent, the subnets and the routers from the host.
func (Mode) Complete(h heddle.HostFacts, n heddle.Network) (heddle.Network, error) {
	return parts.OnLAN(h, n)
}

var lanRules = parts.LANWords{
	Container: "a macvlan container", Network: "the LAN",
	NameSubnet: "name the subnet with --subnet",
}

// Check refuses what the LAN or the sub-mode cannot provide.
func (Mode) Check(h heddle.HostFacts, n heddle.Network) error {
	if err := parts.CheckParent(h, n); err != nil {
		return err
	}
	if err := parts.CheckOptions(n, options); err != nil {
		return err
	}
	sub := subMode(n)
	if sub != subBridge && noHostAccess[sub] == "" {
		return parts.BadOption(n, "macvlan_mode="+sub, "there is no such sub-mode", "give bridge, private, vepa or passthru")
	}
	if err := parts.CheckAddresses(n); err != nil {
		return err
	}
	if err := parts.CheckIPv6(n); err != nil {
		return err
	}
	if n.FromDHCP() && sub == subPassthru {
		return parts.BadOption(n, "addresses=dhcp", "a passthru container has the parent's own MAC address, by which the LAN's server knows the host", "leave it out, or use macvlan_mode=bridge")
	}
	host, err := parts.BoolOption(n, "host-access")
	if err != nil {
		return err
	}
	if host && noHostAccess[sub] != "" {
		return parts.BadOption(n, "host-access=true", noHostAccess[sub], "leave host-access out, or use macvlan_mode=bridge")
	}
	if err := lanRules.Check(h, n); err != nil {
		return err
	}
	if parent, _ := h.Link(n.Parent); sub == subPassthru && len(parent.Gateways) > 0 {
		return heddle.Errorf(heddle.NoParent, "create network", n.Name,
			"a passthru device takes all that arrives at "+n.Parent+", and the host's own default route leads through it",
			"name another interface with --parent")
	}
	return parts.CheckMTU(h, n)
}

// Beside refuses a second network on the parent of a passthru device.
func (Mode) Beside(n, other heddle.Network) error {
	for _, taker := range []heddle.Network{n, other} {
		if taker.Mode == "macvlan" && subMode(taker) == subPassthru {
			return parts.ParentConflict(n, other, "network "+taker.Name+" is passthru and has the parent alone")
		}
	}
	return nil
}

// MAC is the parent's MAC address for passthru, where the device cannot have another.
func (Mode) MAC(h heddle.HostFacts, n heddle.Network) heddle.MAC {
	if subMode(n) != subPassthru {
		return ""
	}
	parent, _ := h.Link(n.Parent)
	return parent.MAC
}

// whoGives says what is not known about the containers' addresses.
func whoGives(n heddle.Network) string {
	if n.FromDHCP() {
		return parts.LimitDHCP
	}
	return "the LAN is not asked whether an address is in use: give out with --ip-range only what no DHCP server and no other host uses"
}

const noWay = "host and containers do not reach each other, and no names are answered: "

// Limits says what the host cannot control in mode macvlan.
func (Mode) Limits(n heddle.Network) []string {
	all := []string{
		"no guard on this host sees the traffic between macvlan neighbours: forged addresses (MAC, IP, ARP, ND), router advertisements and DHCP answers of a container reach the LAN; only the LAN's switch can stop them",
		"no published ports, no masquerade, no isolation from other networks: the containers are hosts of the LAN at their own addresses",
		whoGives(n),
		"clouds and wireless access points drop frames of MAC addresses they do not know",
		firewall.LimitUnderlay,
	}
	if n.FromRouters() {
		all = append(all, parts.LimitRouters)
	}
	if subMode(n) == subPassthru {
		all = append(all, "while a container is there, the host itself receives nothing on "+n.Parent)
	}
	if why := noHostAccess[subMode(n)]; why != "" {
		return append(all, noWay+why)
	}
	if n.Options["host-access"] == "false" {
		return append(all, noWay+"host-access=false")
	}
	return append(all, fmt.Sprintf("host and containers reach each other through %s on %s, which is made for that", heddle.Shim(heddle.LinkFact{Name: n.Parent}).Name, n.Parent))
}

// wantsShim reports whether host and containers shall reach each other.
func wantsShim(n heddle.Network) bool {
	return subMode(n) == subBridge && n.Options["host-access"] != "false"
}
