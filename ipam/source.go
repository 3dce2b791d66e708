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
	// Take leases addresses to id: those wanted, or some; Preview returns what it would.
	Take(id heddle.EndpointID, want []netip.Addr) ([]netip.Prefix, error)
	Preview(id heddle.EndpointID, want []netip.Addr) ([]netip.Prefix, error)
	// TakeOne leases one address of a subnet to who is named for it.
	TakeOne(subnet netip.Prefix, want netip.Addr, name func(netip.Addr) heddle.EndpointID) (netip.Prefix, error)
	// Give ends a lease and returns its addresses.
	Give(id heddle.EndpointID) []netip.Addr
	// Restore leases again what id had before the agent's start; RestoreQuarantine and
	// SetCursor say what was freed then, and how far allocation had come (Cursor).
	Restore(id heddle.EndpointID, addrs []netip.Prefix) error
	RestoreQuarantine(a netip.Addr, since time.Time)
	SetCursor(map[heddle.Family]netip.Addr)
	Cursor() map[heddle.Family]netip.Addr
	// Holder says who has an address, Held who has which.
	Holder(netip.Addr) (id heddle.EndpointID, held bool)
	Held() map[heddle.EndpointID][]netip.Prefix
	// Stats counts the addresses, for each subnet in the network's order.
	Stats() []Stats
}

// Blocks is a Source of a network that hosts share: it gives out what lies in blocks of
// this host, and lends other hosts addresses of them.
type Blocks interface {
	Source
	SetBlocks(blocks []netip.Prefix, except map[netip.Addr]string)
	Lend(a netip.Addr, to string) error
	Reclaim(netip.Addr)
	// Idle and Leased report whether a block is of no use, and whether an address of it
	// is leased.
	Idle(block netip.Prefix) bool
	Leased(block netip.Prefix) bool
}

var _ Blocks = (*Pool)(nil)

// kinds are the sources that there are, in the order in which they are asked; the first
// that fits a network is its source, and the last fits all.
var kinds = []func(heddle.Network) (Source, bool){
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
