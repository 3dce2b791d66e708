// Package overlay is the mode of networks that span hosts. Parts of the subnet (blocks) are on
// different hosts, and packets are routed between them through VXLAN.
//
//	container ═══ hd… ── host 1 ── hv4… ──(VXLAN)── hv4… ── host 2 ── hd… ═══ container
//	                     BLOCK via host 2 dev hv4…
//
// Each container has its own veth, as in mode routed. A tunnel device has entries for all its peers
// and sends no queries, so traffic continues if the agent is dead. Without a cluster, or as the
// only host of a cluster, the network is on one host.
package overlay

import (
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/parts"
	"github.com/heddle-network/heddle/path"
)

// wiring is how the mode connects containers to the host.
var wiring parts.Wiring = parts.RoutedVeth{}

// Mode is the overlay mode.
type Mode struct{}

func (Mode) Name() string { return "overlay" }

// options are all that the mode knows.
var options = []heddle.ModeOption{
	parts.Masquerade,
	{Name: "gwbridge", Values: "false", Text: "Docker's containers go out by the network itself, and not by docker_gwbridge"},
	parts.Engines, parts.FastPath,
}

// About describes the mode.
func (Mode) About() heddle.About {
	return heddle.About{Summary: "one subnet on all hosts of the cluster, routed through VXLAN, with address translation to the outside and published ports", Options: options}
}

// NeedsSubnet is true: the mode needs a subnet of its own.
func (Mode) NeedsSubnet() bool { return true }

// LimitsRates is true: all that a container sends and receives passes its port.
func (Mode) LimitsRates() bool { return true }

// Check refuses networks that no host could have, and networks that do not fit this host.
func (m Mode) Check(h heddle.HostFacts, n heddle.Network) error {
	if err := m.Fits(n); err != nil {
		return err
	}
	return m.checkMTU(h, n)
}

// Fits refuses networks without a subnet, and what cannot span hosts.
func (Mode) Fits(n heddle.Network) error {
	if len(n.Subnets) == 0 {
		return heddle.Errorf(heddle.BadSubnet, "create network", n.Name, "an overlay network needs a subnet", "give one with --subnet")
	}
	if n.Parent != "" {
		return heddle.Errorf(heddle.BadOption, "create network", n.Name,
			"an overlay network has no parent: it uses each host's underlay (heddled --underlay)", "leave --parent out")
	}
	for _, s := range n.Subnets {
		if s.Addr().BitLen()-s.Bits() < 3 {
			return heddle.Errorf(heddle.BadSubnet, "create network", n.Name,
				"its subnet "+s.String()+" has no room for hosts and containers", "give a prefix of at most /29 (IPv6: /125)")
		}
	}
	return parts.CheckOptions(n, options)
}

func (m Mode) checkMTU(h heddle.HostFacts, n heddle.Network) error {
	family := heddle.IPv4
	if n.HasFamily(heddle.IPv6) {
		family = heddle.IPv6
	}
	least := family.LeastMTU()
	most := innerMTU(h)
	switch {
	case most < least:
		return heddle.Errorf(heddle.BadMTU, "create network", n.Name,
			fmt.Sprintf("its containers need an MTU of %d bytes, and the underlay has room for %d", least, most),
			parts.RaiseMTU("the underlay", family))
	case n.MTU != 0 && (n.MTU < least || n.MTU > most):
		return heddle.Errorf(heddle.BadMTU, "create network", n.Name,
			fmt.Sprintf("its MTU of %d is not from %d to %d, which the underlay carries with %d bytes of %s", n.MTU, least, most, overhead(h), path.Of(h.Fabric).Title()),
			"give an MTU in this range, or leave it out")
	}
	return nil
}

// MTU is the MTU of a container's device on this host: that of the underlay less the tunnel's
// overhead. A path with a smaller MTU has it on its routes.
func (Mode) MTU(h heddle.HostFacts, n heddle.Network) int {
	if n.MTU != 0 {
		return min(n.MTU, innerMTU(h))
	}
	return innerMTU(h)
}

// innerMTU is the MTU of the host's underlay less the tunnel's headers.
func innerMTU(h heddle.HostFacts) int {
	mtu := parts.DefaultMTU
	if up, ok := h.Uplink(heddle.Network{}); ok && up.MTU > 0 {
		mtu = up.MTU
	}
	if h.Fabric != nil && h.Fabric.Self.MTU > 0 {
		mtu = h.Fabric.Self.MTU
	}
	return mtu - overhead(h)
}

func overhead(h heddle.HostFacts) int {
	over := heddle.IPv4
	if h.Fabric != nil {
		if _, used := h.Fabric.Self.UnderlayFor(heddle.IPv4); !used {
			over = heddle.IPv6
		}
	}
	return path.Of(h.Fabric).Overhead(over)
}

// masquerades reports whether the containers leave with the host's address.
func masquerades(n heddle.Network) bool { return n.Options["masquerade"] != "false" }

// Masquerades reports whether the containers leave with the host's address.
func (Mode) Masquerades(n heddle.Network) bool { return masquerades(n) }

// Limits says what the mode and the firewall do not prevent.
func (Mode) Limits(n heddle.Network) []string {
	return append(firewall.Limits(n, masquerades(n)),
		"packets between hosts are not encrypted, and a machine on the underlay that can send with a host's address can send for its containers",
		"no broadcast and no multicast between containers")
}

// Network plans the chains, the unreachable routes to the subnets, and the routes to the
// blocks and addresses of other hosts.
func (Mode) Network(h heddle.HostFacts, n heddle.Network) (heddle.Plan, error) {
	s := heddle.State{
		Firewall: append(firewall.Base(), firewall.SpanningChains(h.Fabric, n, masquerades(n))...),
		Sysctls:  parts.Forwarding(h, n),
		Elements: slices.Concat(firewall.NetworkElements(n), firewall.SpanningElements(h.Fabric, n), firewall.Allowed(n), firewall.Surroundings(h)),
		Routes:   parts.UnreachableSubnets(n),
	}
	if h.Fabric != nil {
		addPeerRoutes(h, n, &s)
	}
	return heddle.Plan{Host: s}, nil
}

// Endpoint plans the pair, the host's routes to the container, and the container's routes through
// the gateway.
func (Mode) Endpoint(h heddle.HostFacts, n heddle.Network, e heddle.Endpoint) (heddle.Plan, error) {
	p, err := wiring.Wire(h, n, e)
	p.Host = heddle.Append(p.Host, withoutFastPath(n, e))
	return p, err
}
