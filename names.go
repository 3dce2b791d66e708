package heddle

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Every name and mark is derived from an id by hash, so that a retry finds its
// own work and a stranger's object is never mistaken for ours.
const (
	// Mark is the first word of every interface alias and nftables comment.
	Mark = "heddle"
	// RouteProtocol marks our routes (rtm_protocol; 0x68 is 'h', unassigned in
	// the kernel's rt_protos).
	RouteProtocol = 0x68
	// RulePriorityFrom to RulePriorityTo is the band of our policy rules.
	RulePriorityFrom, RulePriorityTo = 26624, 27135
	// GroupBase is the first interface group of ours; a network's number is
	// added to it.
	GroupBase uint32 = 0x68000000
	// PrefixBridge, PrefixPort, PrefixTrunk and PrefixShim start the names of
	// our links: bridges, the host ends of the containers' links, the pairs that
	// join two bridges of one network, and the host's own ends on parents with
	// macvlan containers.
	PrefixBridge, PrefixPort, PrefixTrunk, PrefixShim = "hb", "hd", "hs", "hm"
	// PrefixTunnel starts the names of the host's ends of tunnels to other hosts.
	PrefixTunnel = "hv"
	// PrefixHand starts the names of the containers' ends of links, while they are on
	// the host to be handed over.
	PrefixHand = "hc"
	// PrefixSlave starts the names of the host's own devices beside ipvlan containers.
	PrefixSlave = "hi"
	// PrefixPeering starts the names of a VPC's ends of links to other VPCs.
	PrefixPeering = "hp"
	// PrefixGateway starts the names of both ends of a link between a VPC and its host. All rules about ports hold for them; none of a port's
	// own names, which go on with hexadecimal digits, begins so.
	PrefixGateway = PrefixPort + "v"
	// PrefixLeaf starts the names of a network's second and later bridges. The
	// first ones' go on with a digit of a hash, in which there is no l.
	PrefixLeaf = PrefixBridge + "l"
	// PrefixShaper starts the names of the devices in which wait what limited containers send. Those of the ports go on with a digit of a
	// hash, in which there is no q.
	PrefixShaper = PrefixPort + "q"
)

func digest(parts ...string) [32]byte {
	return sha256.Sum256([]byte(strings.Join(parts, "\x00")))
}

func short(parts ...string) string {
	h := digest(parts...)
	return hex.EncodeToString(h[:5])
}

// Group is the interface group of all the network's devices on a host:
// GroupBase plus 24 bits of the id's hash. The agent refuses a second network
// with the same number.
func (n Network) Group() uint32 {
	return group(n.ID)
}

func group(parts ...string) uint32 {
	h := digest(append([]string{"group"}, parts...)...)
	return GroupBase | uint32(h[0])<<16 | uint32(h[1])<<8 | uint32(h[2])
}

// BridgeName names the network's bridge; shards after the first are leaves.
func (n Network) BridgeName(shard int) string {
	if shard == 0 {
		return PrefixBridge + short("bridge", n.ID)
	}
	return fmt.Sprintf("%s%s%02x", PrefixLeaf, short("bridge", n.ID), shard)
}

// TrunkNames names the pair that joins a shard to the first bridge: the end on
// the first bridge, and the end on the shard.
func (n Network) TrunkNames(shard int) (root, leaf string) {
	base := fmt.Sprintf("%s%s%02x", PrefixTrunk, short("trunk", n.ID), shard)
	return base + "a", base + "b"
}

// GatewayMAC is the address of the network's bridge, the same after a restart.
func (n Network) GatewayMAC() MAC { return macFrom(0x0e, digest("gateway", n.ID)) }

// BridgeMAC is the address of one of the network's bridges, the same after a
// restart: without one the kernel would take the lowest of its ports'.
func (n Network) BridgeMAC(shard int) MAC {
	if shard == 0 {
		return n.GatewayMAC()
	}
	return macFrom(0x0e, digest("bridge", n.ID, fmt.Sprint(shard)))
}

// ChainName names one of the network's nftables chains.
func (n Network) ChainName(role string) string { return role + "-" + short("chain", n.ID) }

// Alias is the interface alias of the network's own devices.
func (n Network) Alias() string { return Mark + " network=" + n.Name + " id=" + n.ID }

// SameOwner reports whether two aliases are of one owner. A network's alias says
// its name, too, which may change.
func SameOwner(a, b string) bool {
	network := Mark + " network="
	_, x, named := strings.Cut(a, " id=")
	_, y, _ := strings.Cut(b, " id=")
	return a == b || named && x == y && strings.HasPrefix(a, network) && strings.HasPrefix(b, network)
}

// Shim is the host's own macvlan device on a parent, by which host and
// containers reach each other. All networks on the parent share it. Its address
// is derived from the parent's, since it is seen on the parent's LAN.
func Shim(parent LinkFact) Link {
	return Link{
		Name: PrefixShim + short("shim", parent.Name), Kind: "macvlan", Parent: parent.Name, SubMode: "bridge",
		MTU: parent.MTU, MAC: macFrom(0x0e, digest("shim", string(parent.MAC), parent.Name)),
		Group: group("shim", parent.Name),
		Alias: Mark + " shim parent=" + parent.Name, NoAutoAddress: true,
	}
}

// Slave is the host's own ipvlan device on a parent, in the sub-mode that all on
// the parent have. By it host and containers reach each other; all networks on the
// parent share it. Its MAC address is the parent's.
func Slave(parent LinkFact, subMode string) Link {
	return Link{
		Name: PrefixSlave + short("slave", parent.Name), Kind: "ipvlan", Parent: parent.Name, SubMode: subMode, MTU: parent.MTU,
		Group: group("slave", parent.Name),
		Alias: Mark + " slave parent=" + parent.Name, NoAutoAddress: true,
	}
}

// PortName names the host end of the endpoint's link.
func (id EndpointID) PortName() string { return PrefixPort + short("port", id.Container, id.IfName) }

// ShaperName names the device in which waits what the container sends.
func (id EndpointID) ShaperName() string {
	return PrefixShaper + short("shaper", id.Container, id.IfName)
}

// IsPortName reports whether an interface has a name as PortName makes them.
func IsPortName(name string) bool {
	return strings.HasPrefix(name, PrefixPort) && len(name) == len(EndpointID{}.PortName())
}

// PortMAC is the address of the host end of the endpoint's link.
func (id EndpointID) PortMAC() MAC {
	return macFrom(0x0e, digest("port", id.Container, id.IfName))
}

// DefaultMAC derives the container's address from the endpoint and network, so
// that a container that comes back has the address its neighbours know. Salt
// is 0, or counts the collisions met.
func (id EndpointID) DefaultMAC(network string, salt int) MAC {
	return macFrom(0x0a, digest("mac", id.Container, id.IfName, network, fmt.Sprint(salt)))
}

// BirthName names a container's device while it is made.
func BirthName(l Link) string { return PrefixHand + short("birth", l.Alias) }

// Alias is the interface alias of the endpoint's devices.
func (id EndpointID) Alias() string { return Mark + " endpoint=" + id.String() }

// IsOurs reports whether an interface alias or nftables comment bears our mark.
func IsOurs(alias string) bool {
	return strings.HasPrefix(alias, Mark+" ") || strings.HasPrefix(alias, Mark+":")
}

// Metric is that of a container's route by this endpoint to an address that it reaches by others, too:
// no two interfaces of a container have the same.
func (id EndpointID) Metric() uint32 { return group("metric", id.IfName) &^ GroupBase }

// HandName names, on the host, the end of a link that is for the container.
func (id EndpointID) HandName() string {
	return PrefixHand + short("hand", id.Container, id.IfName)
}
