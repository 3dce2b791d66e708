// Package bridge is the mode in which containers are ports of a Linux bridge, with a gateway on the
// bridge, masqueraded traffic to the outside and published ports.
//
//	container            host
//	eth0 ═══ veth ═══ hd… ── hb… (gateway) ── forward ── masquerade ── uplink
//
// The bridge neither learns nor floods. Every MAC address has a static forwarding entry, and a
// broadcast request for an address (ARP, ND) is changed into a frame to the one port that has the
// address. A bridge has room for 1,023 ports, so a large network has several bridges, joined to the
// first in a star:
//
//	hd… hd… hd… ─ hb… ── hs…a ═══ hs…b ── hb…01 ─ hd… hd… hd…
package bridge

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/parts"
)

// wiring is how the mode connects containers to the host.
var wiring parts.Wiring = parts.BridgePort{}

// Mode is the bridge mode.
type Mode struct{}

func (Mode) Name() string { return "bridge" }

// options are all that the mode knows.
var options = []heddle.ModeOption{
	parts.Masquerade,
	{Name: "broadcast", Values: "true", Text: "flood broadcast and multicast to all"},
	parts.Engines, parts.FastPath, parts.BigTCP,
}

// About describes the mode.
func (Mode) About() heddle.About {
	return heddle.About{Summary: "a pair of interfaces into a Linux bridge, with address translation to the outside and published ports", Options: options}
}

// NeedsSubnet is true: the mode needs a subnet of its own.
func (Mode) NeedsSubnet() bool { return true }

// LimitsRates is true: all that a container sends and receives passes its port.
func (Mode) LimitsRates() bool { return true }

// WiresTAPs is true: a port of a bridge can be a TAP device.
func (Mode) WiresTAPs() bool { return true }

// GuardsPorts is true: all that a container sends and receives passes its port.
func (Mode) GuardsPorts() bool { return true }

// HoldsHAVIPs is true: what is sent to an address passes the bridge, which knows who holds it.
func (Mode) HoldsHAVIPs() bool { return true }

// Check refuses networks without a subnet, and unknown options.
func (Mode) Check(h heddle.HostFacts, n heddle.Network) error {
	if len(n.Subnets) == 0 {
		return heddle.Errorf(heddle.BadSubnet, "create network", n.Name, "a bridge network needs a subnet", "give one with --subnet")
	}
	if err := parts.CheckOptions(n, options); err != nil {
		return err
	}
	if err := parts.CheckParent(h, n); err != nil {
		return err
	}
	return parts.CheckMTU(h, n)
}

// masquerades reports whether the containers leave with the host's address.
func masquerades(n heddle.Network) bool { return n.Options["masquerade"] != "false" }

// Masquerades reports whether the containers leave with the host's address.
func (Mode) Masquerades(n heddle.Network) bool { return masquerades(n) }

// Limits says what the firewall does not prevent.
func (Mode) Limits(n heddle.Network) []string { return firewall.Limits(n, masquerades(n)) }

// Network plans the first bridge with its gateway addresses, and the network's
// chains.
func (Mode) Network(h heddle.HostFacts, n heddle.Network) (heddle.Plan, error) {
	bridge := n.BridgeName(0)
	s := heddle.State{
		Firewall: append(firewall.Base(), firewall.NetworkChains(n, masquerades(n))...),
		Links:    []heddle.Link{parts.Bridge(h, n, 0)},
		Sysctls:  parts.Forwarding(h, n),
		Elements: slices.Concat(firewall.NetworkElements(n), firewall.Allowed(n), firewall.Surroundings(h), parts.Gateways(n)),
		Routes:   parts.UnreachableSubnets(n),
	}
	if n.HasFamily(heddle.IPv4) {
		s.Sysctls = append(s.Sysctls,
			heddle.Sysctl{Name: "net/ipv4/conf/" + bridge + "/rp_filter", Value: "2"})
	}
	if n.HasFamily(heddle.IPv6) {
		s.Sysctls = append(s.Sysctls, heddle.Sysctl{Name: "net/ipv6/conf/" + bridge + "/accept_ra", Value: "0"})
		s.Addresses = append(s.Addresses, heddle.Address{Link: bridge, Prefix: netip.PrefixFrom(n.GatewayMAC().LinkLocal(), 64)})
	}
	for i, g := range n.Gateways {
		s.Addresses = append(s.Addresses, heddle.Address{Link: bridge, Prefix: netip.PrefixFrom(g, n.Subnets[i].Bits())})
	}
	return heddle.Plan{Host: s}, nil
}

// Endpoint connects the container to a port of a bridge.
func (Mode) Endpoint(h heddle.HostFacts, n heddle.Network, e heddle.Endpoint) (heddle.Plan, error) {
	p, err := wiring.Wire(h, n, e)
	return parts.BigSegments(n, p), err
}
