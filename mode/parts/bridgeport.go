package parts

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// portsPerBridge leaves room on the first bridge for the trunks to 255 others
// (BR_MAX_PORTS in net/bridge/br_private.h is 1024, and port 0 is not used).
const portsPerBridge = 768

const maxShards = 256

// BridgePorts is how many endpoints a bridge network can have.
const BridgePorts = portsPerBridge * maxShards

// Bridge is one of a network's bridges: the first, which has the gateway, or a leaf.
func Bridge(h heddle.HostFacts, n heddle.Network, shard int) heddle.Link {
	return heddle.Link{Name: n.BridgeName(shard), Kind: "bridge", MTU: ResolveMTU(h, n), MAC: n.BridgeMAC(shard),
		Group: n.Group(), Alias: n.Alias(), NoAutoAddress: true}
}

// BridgePort is the wiring with a veth whose host end is a port of a bridge of the network. The
// port of a virtual machine is a TAP device, which has no other end.
type BridgePort struct{}

// Wire plans the pair, the port, what may be sent from the port, and the container's addresses and
// default route.
func (BridgePort) Wire(h heddle.HostFacts, n heddle.Network, e heddle.Endpoint) (heddle.Plan, error) {
	shard := e.Slot / portsPerBridge
	if shard >= maxShards {
		return heddle.Plan{}, heddle.Errorf(heddle.PoolExhausted, "attach endpoint", e.ID.String(),
			fmt.Sprintf("network %s has %d endpoints, as many as a bridge network can have", n.Name, BridgePorts), "create another network")
	}
	host := heddle.State{}
	if shard > 0 {
		host = shardState(h, n, e, shard)
	}
	port := e.ID.PortName()
	host.Links = append(host.Links, portLink(n, e, shard))
	host.Elements = append(host.Elements, bridgeGuard(n, e)...)
	host.Elements = slices.Concat(host.Elements, firewall.Publish(e), firewall.AsksHost(n, e))
	host.Forwards = append(host.Forwards, heddle.Forward{Link: port, MAC: e.MAC})
	// a port needs no IPv6 of its own; otherwise the kernel would add a route to ff00::/8 for each
	// port, and search these routes one by one (fib6_add_rt2node)
	host.Sysctls = append(host.Sysctls,
		heddle.Sysctl{Name: "net/ipv6/conf/" + port + "/disable_ipv6", Value: "1"},
		heddle.Sysctl{Name: "net/ipv6/conf/" + port + "/accept_ra", Value: "0"})
	if n.HasFamily(heddle.IPv4) {
		host.Sysctls = append(host.Sysctls, heddle.LoopbackWay(n.BridgeName(0), e.Ports)...)
	}
	for _, a := range e.Sources() {
		host.Neighbours = append(host.Neighbours, heddle.Neighbour{Link: n.BridgeName(0), Addr: a, MAC: e.MAC})
	}
	host = heddle.Append(host, limits(n, e))
	if e.TAP {
		return heddle.Plan{Host: host}, nil // the fast path knows veth pairs only
	}
	host = heddle.Append(host, shortcuts(n, e, true))
	pod := bridgedPod(n, e)
	pod.Routes = append(pod.Routes, nameRoutes(n, e)...)
	return heddle.Plan{Host: host, Pod: pod}, nil
}

// portLink is the port. Whoever publishes a port of the container, the container may call it: where
// bridged frames pass the IP firewall, such a frame leaves by the port that it came in by. With
// broadcasts such a port would send the container's own back to it.
func portLink(n heddle.Network, e heddle.Endpoint, shard int) heddle.Link {
	broadcast := n.Options["broadcast"] == "true"
	l := heddle.Link{Name: e.ID.PortName(), Kind: "veth", MTU: e.MTU, MAC: e.ID.PortMAC(), Group: n.Group(),
		Alias: e.ID.Alias(), Peer: e.Interface(), PeerInPod: true, NoAutoAddress: true, Master: n.BridgeName(shard),
		Port: &heddle.BridgePort{BroadcastFlood: broadcast, MulticastFlood: broadcast || len(e.Further) > 0, Hairpin: !broadcast || len(e.Ports) > 0}}
	if e.TAP {
		l.Kind, l.Peer, l.PeerInPod, l.MultiQueue = "tun", "", false, e.MultiQueue
	}
	return l
}

// bridgeGuard lists what the port may send, and which port answers for its addresses.
func bridgeGuard(n heddle.Network, e heddle.Endpoint) []heddle.Element {
	all := firewall.BridgeGuard(e)
	for _, a := range e.Sources() {
		if a.Is6() {
			all = append(all, heddle.Element{Family: "bridge", Set: "nd", Match: []string{e.ID.PortName(), a.String()}})
		}
		if a.Is4() || !hasFurther(e, a) {
			all = append(all, answers(n, a, e.MAC))
		}
	}
	return all
}

// hasFurther reports whether it is a further address of a virtual machine. An ipvlan device there takes no neighbour solicitation to a multicast
// address from a frame to its own MAC address (ipvlan_get_L3_hdr in drivers/net/ipvlan), so such an address is asked for by multicast.
func hasFurther(e heddle.Endpoint, a netip.Addr) bool {
	return slices.ContainsFunc(e.Further, func(s heddle.AddressSet) bool { return s.Has(a) })
}

// Gateways says that the first bridge answers for the network's gateways.
func Gateways(n heddle.Network) (all []heddle.Element) {
	for _, g := range n.Gateways {
		all = append(all, answers(n, g, n.GatewayMAC()))
	}
	return all
}

// answers says who is asked when somebody of the network looks for an address.
func answers(n heddle.Network, a netip.Addr, by heddle.MAC) heddle.Element {
	who := "who4"
	if a.Is6() {
		who = "who6"
	}
	return heddle.Element{Family: "bridge", Set: who, Match: []string{fmt.Sprintf("%#x", n.Group()), a.String()}, Value: []string{string(by)}}
}

// shardState plans another bridge and its trunk to the first bridge. The leaf sends frames to
// unknown addresses to the trunk; the first bridge knows every MAC address.
func shardState(h heddle.HostFacts, n heddle.Network, e heddle.Endpoint, shard int) heddle.State {
	root, leaf := n.TrunkNames(shard)
	trunk := heddle.Link{Kind: "veth", MTU: ResolveMTU(h, n), Group: n.Group(), Alias: n.Alias(), NoAutoAddress: true}
	up, down := trunk, trunk
	up.Name, up.Master, up.Port = leaf, n.BridgeName(shard), &heddle.BridgePort{Flood: true, MulticastFlood: true, BroadcastFlood: true}
	broadcast := n.Options["broadcast"] == "true"
	down.Name, down.Peer, down.Master = root, leaf, n.BridgeName(0)
	// if bridged frames pass the IP firewall, what a container sends to a published port of a
	// neighbour on its leaf goes back by the trunk; so would every broadcast
	down.Port = &heddle.BridgePort{BroadcastFlood: broadcast, MulticastFlood: broadcast, Hairpin: !broadcast}
	return heddle.State{
		Links: []heddle.Link{Bridge(h, n, shard), down, up},
		// the leaf knows the gateway's MAC address: with a frame to an unknown one, the kernel goes through all ports (br_flood)
		Forwards: []heddle.Forward{{Link: root, MAC: e.MAC}, {Link: leaf, MAC: n.BridgeMAC(0)}},
		// only the first bridge answers for the gateway; without this setting the kernel answers
		// for the host's addresses on any device
		Sysctls: []heddle.Sysctl{{Name: "net/ipv4/conf/" + n.BridgeName(shard) + "/arp_ignore", Value: "8"}},
	}
}

func bridgedPod(n heddle.Network, e heddle.Endpoint) heddle.State {
	return PodOnSubnet(n, e, heddle.Link{Name: e.Interface(), Kind: "veth", MTU: e.MTU, MAC: e.MAC, Alias: e.ID.Alias(), NoAutoAddress: true})
}
