package heddle

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Host is a host of a cluster, as the store records it.
type Host struct {
	Name string `json:"name"`
	// ID is made with the host's state folder: 16 hexadecimal digits. A host
	// installed anew under its old name has another one.
	ID string `json:"id"`
	// Underlay has at most one address of each family: where the host's tunnels
	// end. Two hosts use a family that both have, IPv4 first.
	Underlay []netip.Addr `json:"underlay"`
	// MTU in bytes of the interface that has these addresses.
	MTU int `json:"mtu"`
	// PrivilegedPorts says that its tunnels send only from the ports that begin at
	// TunnelSourceLow. A packet from any other port is not from its tunnels.
	PrivilegedPorts bool      `json:"privilegedPorts,omitempty"`
	Version         string    `json:"version,omitempty"`
	Joined          time.Time `json:"joined,omitzero"`
}

// TunnelMAC is the address of the host's tunnel devices, which its peers know
// without asking.
func (h Host) TunnelMAC() MAC { return macFrom(0x0e, digest("tunnel", h.ID)) }

// UnderlayFor returns the host's underlay address of a family.
func (h Host) UnderlayFor(f Family) (netip.Addr, bool) {
	a := OfFamily(h.Underlay, f)
	return a, a.IsValid()
}

// Block is a part of a network's subnet. One host allocates addresses from it.
type Block struct {
	// Network is the network's ID, Host the owner's.
	Network string       `json:"network"`
	Prefix  netip.Prefix `json:"prefix"`
	Host    string       `json:"host"`
}

// Pin is an address that is in use on a host that does not own the address's block.
type Pin struct {
	Network string     `json:"network"`
	Addr    netip.Addr `json:"addr"`
	Host    string     `json:"host"`
}

// Fabric is what a host knows about the cluster it belongs to.
type Fabric struct {
	// Cluster is the cluster's id, VNI its VXLAN network identifier (24 bits) and
	// Port its UDP port (RFC 7348; 4789).
	Cluster string `json:"cluster"`
	VNI     uint32 `json:"vni"`
	Port    uint16 `json:"port"`
	// Path names how packets get from host to host (package path); "" is VXLAN.
	Path string `json:"path,omitempty"`
	Self Host   `json:"self"`
	// Peers are the other hosts, by name.
	Peers  []Host  `json:"peers,omitempty"`
	Blocks []Block `json:"blocks,omitempty"`
	Pins   []Pin   `json:"pins,omitempty"`
	// Networks are all that the hosts share.
	Networks []Network `json:"networks,omitempty"`
	// Sources are the addresses, one of each family and network, that this host
	// keeps for itself: the source of what it sends to containers of other hosts.
	Sources []Pin `json:"sources,omitempty"`
	// PathMTU is what the underlay was found to carry to a peer (by ID), in bytes;
	// a peer that is not in it is taken at the smaller of both ends' MTU.
	PathMTU map[string]int `json:"pathMTU,omitempty"`
	// SoftChecksums has tunnel devices compute inner checksums before the NIC
	// sees the packet: the NIC was found to spoil them.
	SoftChecksums bool `json:"softChecksums,omitempty"`
}

// BlocksOf lists a host's blocks of a network, in ascending order.
func (f *Fabric) BlocksOf(network, host string) []netip.Prefix {
	var all []netip.Prefix
	if f == nil {
		return nil
	}
	for _, b := range f.Blocks {
		if b.Network == network && b.Host == host {
			all = append(all, b.Prefix)
		}
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return all
}

// Source is the address of a network that this host keeps for itself.
func (f *Fabric) Source(network string, of Family) (netip.Addr, bool) {
	for _, p := range f.Sources {
		if p.Network == network && of.Has(p.Addr) {
			return p.Addr, true
		}
	}
	return netip.Addr{}, false
}

// TunnelName names the host's tunnel device. There is one for each family of the
// underlay.
func (f *Fabric) TunnelName(of Family) string {
	return PrefixTunnel + of.Digit() + short("tunnel", f.Cluster)[:8]
}

// TunnelGroup is the interface group of the tunnel devices.
func (f *Fabric) TunnelGroup() uint32 { return Network{ID: "tunnel " + f.Cluster}.Group() }

// TunnelAlias is the interface alias of the tunnel devices.
func (f *Fabric) TunnelAlias() string { return Mark + " tunnel cluster=" + f.Cluster }

// VNIOf derives a cluster's VXLAN network identifier, which is not 0, from its id.
func VNIOf(cluster string) uint32 {
	h := digest("vni", cluster)
	return max(1, uint32(h[0])<<16|uint32(h[1])<<8|uint32(h[2]))
}

// The TCP ports of a host that keeps the store: where hosts join, where members of
// the store ask it, and where its members speak with each other.
const (
	DoorPort        uint16 = 9478
	StoreClientPort uint16 = 9479
	StorePeerPort   uint16 = 9480
)

// Path returns the family by which two hosts reach each other, IPv4 first.
func Path(self, peer Host) (f Family, ok bool) {
	for _, f := range Families() {
		_, here := self.UnderlayFor(f)
		_, there := peer.UnderlayFor(f)
		if here && there {
			return f, true
		}
	}
	return 0, false
}

// BlockBits is the length of the blocks that a subnet is given out in: 32 of
// them or more, with at most 64 addresses of IPv4 each, so that a small subnet
// serves several hosts and a large one needs few routes; 65,536 of IPv6.
func BlockBits(subnet netip.Prefix) int {
	if subnet.Addr().Is4() {
		return min(30, max(26, subnet.Bits()+5))
	}
	return min(124, subnet.Bits()+16)
}

// BlockOf returns the block that an address of a subnet lies in.
func BlockOf(subnet netip.Prefix, a netip.Addr) netip.Prefix {
	return netip.PrefixFrom(a, max(subnet.Bits(), BlockBits(subnet))).Masked()
}

// HostItself names the holder of a host's own addresses.
const HostItself = "the host itself"

func (p Pin) String() string { return fmt.Sprintf("%s on %s", p.Addr, p.Host) }
