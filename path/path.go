// Package path is how packets get from one host of a cluster to another: the devices that they go
// through, who may deliver packets, and what the path takes of each packet. A path is a value.
// Modes, agent and doctor use it, and know none by name. It only computes; package kernel makes
// what plans say.
package path

import (
	"net/netip"

	"github.com/heddle-network/heddle"
)

// Path is a way of carrying packets between hosts. Its methods have no side effects. Over is the IP
// version of the underlay, by which two hosts reach each other (heddle.Path).
type Path interface {
	// Name is the path's name in the cluster's record and in the status of peers.
	Name() string
	// Title is the name that people know it by.
	Title() string
	// Kind is the kind of the path's devices (ip-link(8)).
	Kind() string
	// Port is the UDP port at which hosts receive the path's packets, unless their cluster has
	// another port. It is 0 if the path has none.
	Port() uint16
	// Overhead is the number of bytes that the path adds to a container's packet.
	Overhead(over heddle.Family) int
	// Device names the interface through which packets enter the path. The interface is in the
	// group Fabric.TunnelGroup, and its name starts with PrefixTunnel. The chains of networks that
	// span hosts match it by both.
	Device(f *heddle.Fabric, over heddle.Family) string
	// Host plans what a host needs whoever its peers are: devices, and the chains in front of them.
	Host(heddle.HostFacts) heddle.State
	// Peer plans the way to a peer, and what the peer may send.
	Peer(f *heddle.Fabric, p heddle.Host, over heddle.Family) heddle.State
	// Hop is the next hop, on Device, of routes of family to towards a peer's prefixes.
	Hop(p heddle.Host, over, to heddle.Family) netip.Addr
	// Fast plans what the programs of the fast path know of this host's underlay, and of the peers
	// that they send to. Carries reports whether p is among these peers.
	Fast(heddle.HostFacts) heddle.State
	Carries(h heddle.HostFacts, p heddle.Host, over heddle.Family) bool
	// Probe is where checksums that are left to the NIC can be tested; false if they cannot.
	Probe(f *heddle.Fabric, p heddle.Host, over heddle.Family) (Probe, bool)
}

// Probe is where a host tests what the path does to checksums: a device, and the link-local
// addresses (IPv6) of both its ends.
type Probe struct {
	Device     string
	Self, Peer netip.Addr
}

// paths are all known paths. The first is used by clusters whose record names none.
var paths = []Path{VXLAN{}}

// All are the paths, in the order in which they are tried and listed.
func All() []Path { return append([]Path(nil), paths...) }

// Default is the path of a cluster that does not say another one.
func Default() Path { return paths[0] }

// Named finds a path by its name; "" also means the default.
func Named(name string) (Path, bool) {
	if name == "" {
		return Default(), true
	}
	for _, p := range paths {
		if p.Name() == name {
			return p, true
		}
	}
	return nil, false
}

// Of is the path of a cluster; without one, the default. A record that names a path which
// is not known here is not taken on (package cluster).
func Of(f *heddle.Fabric) Path {
	if f != nil {
		if p, known := Named(f.Path); known {
			return p
		}
	}
	return Default()
}

// Room is what the path to a peer carries of a container's packet, in bytes: what the
// underlay was found to carry, or the smaller of both ends' MTU, less the overhead.
func Room(f *heddle.Fabric, p heddle.Host, over heddle.Family) int {
	mtu := min(f.Self.MTU, p.MTU)
	if found, ok := f.PathMTU[p.ID]; ok {
		mtu = min(mtu, found)
	}
	return mtu - Of(f).Overhead(over)
}

// MTU is that of a family's routes to a peer, in bytes: the room, at least what the family
// needs. What is larger than the underlay's path is fragmented there.
func MTU(f *heddle.Fabric, p heddle.Host, over, of heddle.Family) int {
	return max(of.LeastMTU(), Room(f, p, over))
}

// outer is a host's underlay address.
func outer(p heddle.Host, over heddle.Family) netip.Addr {
	a, _ := p.UnderlayFor(over)
	return a
}

// underlay is this host's underlay address of a family, and the interface that has it.
func underlay(h heddle.HostFacts, over heddle.Family) (addr netip.Addr, link string, ok bool) {
	addr, used := h.Fabric.Self.UnderlayFor(over)
	if !used {
		return addr, "", false
	}
	l, there := h.Holder(addr)
	return addr, l.Name, there
}
