package ipam

import (
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
)

// Source is where a network's endpoints get their addresses on this host. It is safe for
// parallel use.
type Source interface {
	// Gives reports whether endpoints get addresses from it at all.
	Gives() bool
	// Take leases addresses to id: the requested ones, or any. Preview returns what Take would
	// return.
	Take(id heddle.EndpointID, want []netip.Addr) ([]netip.Prefix, error)
	Preview(id heddle.EndpointID, want []netip.Addr) ([]netip.Prefix, error)
	// TakeOne leases one address of a subnet to the id that name returns for it.
	TakeOne(subnet netip.Prefix, want netip.Addr, name func(netip.Addr) heddle.EndpointID) (netip.Prefix, error)
	// Give ends a lease and returns its addresses.
	Give(id heddle.EndpointID) []netip.Addr
	// Restore records the lease that id had before the agent's start. RestoreQuarantine and
	// SetCursor record what was freed then, and how far allocation had come (Cursor).
	Restore(id heddle.EndpointID, addrs []netip.Prefix) error
	RestoreQuarantine(a netip.Addr, since time.Time)
	SetCursor(map[heddle.Family]netip.Addr)
	Cursor() map[heddle.Family]netip.Addr
	// Holder returns the id that has an address, Held all leases.
	Holder(netip.Addr) (id heddle.EndpointID, held bool)
	Held() map[heddle.EndpointID][]netip.Prefix
	// Stats counts the addresses, for each subnet in the network's order.
	Stats() []Stats
}

// Blocks is a Source of a network that hosts share. It gives out addresses in the blocks of this
// host, and lends addresses in them to other hosts.
type Blocks interface {
	Source
	SetBlocks(blocks []netip.Prefix, except map[netip.Addr]string)
	Lend(a netip.Addr, to string) error
	Reclaim(netip.Addr)
	// Idle reports whether a block is unused, Leased whether an address of it is leased.
	Idle(block netip.Prefix) bool
	Leased(block netip.Prefix) bool
}

var _ Blocks = (*Pool)(nil)

// kinds are all kinds of sources, in the order in which they are tried. The first one that fits a
// network is its source, and the last one fits all networks.
var kinds = []func(heddle.Network) (Source, bool){
	func(n heddle.Network) (Source, bool) { return LAN{}, n.FromDHCP() },
	func(n heddle.Network) (Source, bool) { return None{}, len(n.Subnets) == 0 },
	func(n heddle.Network) (Source, bool) { return NewPool(n), true },
}

// For makes the source of a network that Check has returned.
func For(n heddle.Network) Source {
	for _, kind := range kinds {
		if s, fits := kind(n); fits {
			return s
		}
	}
	panic("ipam: no kind of source fits network " + n.Name)
}
