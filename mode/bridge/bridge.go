// Package bridge is the mode in which containers are ports of a Linux bridge,
// with a gateway on the bridge, masqueraded traffic to the outside and
// published ports.
//
//	container            host
//	eth0 ═══ veth ═══ hd… ── hb… (gateway) ── forward ── masquerade ── uplink
//
// The bridge neither learns nor floods: every MAC address has a static
// forwarding entry, and requests for an address (ARP, ND) are turned from
// broadcast into a frame to the one port that owns it. A bridge has room for
// 1,023 ports, so a large network has several, joined to the first in a star:
//
//	hd… hd… hd… ─ hb… ── hs…a ═══ hs…b ── hb…01 ─ hd… hd… hd…
package bridge

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/parts"
)

// portsPerBridge leaves room on the first bridge for the trunks to 255 others
// (BR_MAX_PORTS in net/bridge/br_private.h is 1024, and port 0 is not used).
const portsPerBridge = 768

const maxShards = 256

// Mode is the bridge mode.
type Mode struct{}

func (Mode) Name() string { return "bridge" }

// Options of the mode: broadcast=true floods broadcast and multicast frames to
// all ports; masquerade=false sends containers' own addresses to the outside;
// fast-path=false has every packet pass the bridge; big-tcp=true lets TCP's IPv4
// segments grow beyond 64 KB, as in internal networks they do without it;
// engines=true lets containers call those of other engines on the host.
var options = []string{"broadcast", "masquerade", "fast-path", "big-tcp", firewall.OptionEngines}

// Check refuses networks without a subnet, and unknown options.
func (Mode) Check(h heddle.HostFacts, n heddle.Network) error {
	if len(n.Subnets) == 0 {
		return heddle.Errorf(heddle.BadSubnet, "network", n.Name, "a bridge network needs --subnet")
	}
	if err := parts.CheckOptions(n, options...); err != nil {
		return err
	}
	if err := parts.CheckBoolOptions(n, options...); err != nil {
		return err
	}
	if err := parts.CheckParent(h, n); err != nil {
		return err
	}
	return parts.CheckMTU(h, n)
}

// masquerades reports whether the containers leave with the host's address.
func masquerades(n heddle.Network) bool { return n.Options["masquerade"] != "false" }

// Limits says what the firewall does not prevent.
func (Mode) Limits(n heddle.Network) []string { return firewall.Limits(n, masquerades(n)) }

// Network plans the first bridge with its gateway addresses, and the network's
// chains.
func (Mode) Network(h heddle.HostFacts, n heddle.Network) (heddle.Plan, error) {
	bridge := n.BridgeName(0)
	s := heddle.State{
		Firewall: append(firewall.Base(), firewall.NetworkChains(n, masquerades(n))...),
		Links:    []heddle.Link{bridgeLink(h, n, 0)},
		Sysctls:  parts.Forwarding(h, n),
		Elements: slices.Concat(firewall.Doorways(n), firewall.Allowed(n), firewall.Surroundings(h)),
		Routes:   parts.Floor(n),
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

func bridgeLink(h heddle.HostFacts, n heddle.Network, shard int) heddle.Link {
	return heddle.Link{Name: n.BridgeName(shard), Kind: "bridge", MTU: parts.ResolveMTU(h, n), MAC: n.BridgeMAC(shard),
		Group: n.Group(), Alias: n.Alias(), NoAutoAddress: true}
}

// Endpoint plans the pair, the port, what may be sent from it, and the
// container's addresses and default route.
func (Mode) Endpoint(h heddle.HostFacts, n heddle.Network, e heddle.Endpoint) (heddle.Plan, error) {
	shard := e.Slot / portsPerBridge
	if shard >= maxShards {
		return heddle.Plan{}, heddle.Errorf(heddle.PoolExhausted, "bridge network", n.Name, fmt.Sprintf("it has room for %d endpoints; create another one", portsPerBridge*maxShards))
	}
	host := heddle.State{}
	if shard > 0 {
		host = shardState(h, n, e, shard)
	}
	port := e.ID.PortName()
	host.Links = append(host.Links, portLink(n, e, shard))
	host.Elements = append(host.Elements, guard(n, e)...)
	host.Elements = append(host.Elements, firewall.Publish(e)...)
	host.Forwards = append(host.Forwards, heddle.Forward{Link: port, MAC: e.MAC})
	// a port needs no IPv6 of its own; with it, the kernel would give each port a
	// route to ff00::/8 and search them in line (fib6_add_rt2node)
	host.Sysctls = append(host.Sysctls,
		heddle.Sysctl{Name: "net/ipv6/conf/" + port + "/disable_ipv6", Value: "1"},
		heddle.Sysctl{Name: "net/ipv6/conf/" + port + "/accept_ra", Value: "0"})
	if n.HasFamily(heddle.IPv4) {
		host.Sysctls = append(host.Sysctls, heddle.LoopbackWay(n.BridgeName(0), e.Ports)...)
	}
	for _, a := range e.Sources() {
		host.Neighbours = append(host.Neighbours, heddle.Neighbour{Link: n.BridgeName(0), Addr: a, MAC: e.MAC})
	}
	host = heddle.Append(host, parts.BridgedShortcuts(n, e))
	return parts.BigSegments(n, heddle.Plan{Host: host, Pod: pod(n, e)}), nil
}

func portLink(n heddle.Network, e heddle.Endpoint, shard int) heddle.Link {
	broadcast := n.Options["broadcast"] == "true"
	return heddle.Link{Name: e.ID.PortName(), Kind: "veth", MTU: e.MTU, MAC: e.ID.PortMAC(), Group: n.Group(),
		Alias: e.ID.Alias(), Peer: e.Interface(), PeerInPod: true, NoAutoAddress: true, Master: n.BridgeName(shard),
		Port: &heddle.BridgePort{BroadcastFlood: broadcast, MulticastFlood: broadcast, Hairpin: len(e.Ports) > 0}}
}

// guard lists what the port may send, and who answers for its addresses.
func guard(n heddle.Network, e heddle.Endpoint) []heddle.Element {
	group := fmt.Sprintf("%#x", n.Group())
	all := firewall.BridgeGuard(e)
	for _, a := range e.Sources() {
		who := "who4"
		if a.Is6() {
			who = "who6"
			all = append(all, heddle.Element{Family: "bridge", Set: "nd", Match: []string{e.ID.PortName(), a.String()}})
		}
		all = append(all, heddle.Element{Family: "bridge", Set: who, Match: []string{group, a.String()}, Value: []string{string(e.MAC)}})
	}
	return all
}

// shardState plans another bridge and its trunk to the first. The leaf sends
// whatever it does not know up the trunk; the first bridge knows every MAC.
func shardState(h heddle.HostFacts, n heddle.Network, e heddle.Endpoint, shard int) heddle.State {
	root, leaf := n.TrunkNames(shard)
	trunk := heddle.Link{Kind: "veth", MTU: parts.ResolveMTU(h, n), Group: n.Group(), Alias: n.Alias(), NoAutoAddress: true}
	up, down := trunk, trunk
	up.Name, up.Master, up.Port = leaf, n.BridgeName(shard), &heddle.BridgePort{Flood: true, MulticastFlood: true, BroadcastFlood: true}
	broadcast := n.Options["broadcast"] == "true"
	down.Name, down.Peer, down.Master = root, leaf, n.BridgeName(0)
	// where bridged frames pass the IP firewall, what a container sends to a
	// published port of a neighbour on its leaf goes back by the trunk; so would
	// every broadcast
	down.Port = &heddle.BridgePort{BroadcastFlood: broadcast, MulticastFlood: broadcast, Hairpin: !broadcast}
	return heddle.State{
		Links:    []heddle.Link{bridgeLink(h, n, shard), down, up},
		Forwards: []heddle.Forward{{Link: root, MAC: e.MAC}},
		// only the first bridge answers for the gateway; the kernel would answer
		// for the host's addresses on any device
		Sysctls: []heddle.Sysctl{{Name: "net/ipv4/conf/" + n.BridgeName(shard) + "/arp_ignore", Value: "8"}},
	}
}

func pod(n heddle.Network, e heddle.Endpoint) heddle.State {
	return parts.PodOnSubnet(n, e, heddle.Link{Name: e.Interface(), Kind: "veth", MTU: e.MTU, MAC: e.MAC, Alias: e.ID.Alias(), NoAutoAddress: true})
}
