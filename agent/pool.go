package agent

import (
	"net/netip"

	"github.com/heddle-network/heddle"
)

// PoolAsk asks for a subnet that a network is to have, before there is one.
type PoolAsk struct {
	// Subnet is the zero prefix to get a free one.
	Subnet netip.Prefix `json:"subnet,omitzero"`
	// Range narrows the addresses given out unasked; it lies in the subnet.
	Range netip.Prefix `json:"range,omitzero"`
	// V6 asks for an IPv6 subnet, if none is named.
	V6 bool `json:"v6,omitempty"`
	// Network is the ID of a network that is there: the pool is its subnet.
	Network string `json:"network,omitempty"`
}

// Pool is a subnet that is spoken for.
type Pool struct {
	// ID is the text of what was asked for.
	ID      string       `json:"id"`
	Subnet  netip.Prefix `json:"subnet"`
	Range   netip.Prefix `json:"range,omitzero"`
	Network string       `json:"network,omitempty"`
	// Gateway is the one that a network on it has, or will have unless it is
	// created with another.
	Gateway netip.Prefix `json:"gateway"`
	// Refs counts the requests not yet released.
	Refs int `json:"refs"`
}

// RequestPool speaks for a subnet: the one asked for, as often as it is asked
// for, or a free one that overlaps nothing on this host nor in the cluster,
// another each time. It is on disk before RequestPool returns.
func (a *Agent) RequestPool(ask PoolAsk) (Pool, error) {
	return Pool{}, heddle.Errorf(heddle.Stopping, "pool", ask.Subnet.String(), "not made yet")
}

// ReleasePool ends one request. A pool that is not there is released already.
func (a *Agent) ReleasePool(id string) error { return nil }

// Pools lists the pools, by ID.
func (a *Agent) Pools() []Pool { return nil }

// PoolOf finds the pool of a subnet.
func (a *Agent) PoolOf(subnet netip.Prefix) (Pool, bool) { return Pool{}, false }
