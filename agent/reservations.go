package agent

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// reservations are the pools and leases that engines ask for before there is a network or an
// endpoint, and their records on disk. The lock is held while records are written, so that callers
// see only what is on disk.
type reservations struct {
	cluster  cluster.API // nil without a cluster
	kernel   HostReader
	ledger   *ledger
	log      *slog.Logger
	trip     tripwire
	host     *hostView
	networks *register
	records  *records
	removals *removals
	blocks   *blocks
	routes   *vpcRoutes
	// leaseLimit is how long an address without an endpoint stays leased; 0 means leaseTime.
	leaseLimit time.Duration

	mu mutex[atReservations]
	// leases are for endpoints, and pools for networks, that do not exist yet.
	leases   map[string]Lease
	poolByID map[string]Pool
	// returned are the addresses that were given back most recently, by pool.
	returned map[string][]returnedAddr
}

// RequestPool reserves a subnet. A request for a certain subnet always returns the same pool.
// Other requests return another free subnet each time, which overlaps nothing on this host or in
// the cluster. The pool is on disk before RequestPool returns.
func (a *Agent) RequestPool(ask PoolRequest) (Pool, error) {
	if !a.ready.Load() {
		return Pool{}, heddle.Errorf(heddle.Stopping, "reserve pool", ask.Subnet.String(), "",
			"call again when the agent is back")
	}
	return a.reservations.requestPool(ask)
}

// ReleasePool ends a pool. It succeeds if there is no such pool.
func (a *Agent) ReleasePool(id string) error {
	if !a.ready.Load() {
		return heddle.Errorf(heddle.Stopping, "release pool", id, "", "call again when the agent is back")
	}
	return a.reservations.releasePool(id)
}

// Pools lists the pools, by ID.
func (a *Agent) Pools() []Pool { return a.reservations.listPools() }

// Lease takes an address of a pool: the one asked for or, for the zero address, a free one. The
// lease is on disk before Lease returns. A second call for the same address with the same MAC
// returns the same lease. It fails if the address was given back and an endpoint still has it.
// Before there is a network on the pool, only a certain address can be leased.
func (a *Agent) Lease(ctx context.Context, pool string, addr netip.Addr, mac heddle.MAC) (netip.Prefix, error) {
	if !a.ready.Load() {
		return netip.Prefix{}, heddle.Errorf(heddle.Stopping, "lease address from pool", pool, "",
			"call again when the agent is back")
	}
	return a.reservations.lease(ctx, pool, addr, mac)
}

// Unlease gives an address back. It succeeds if nobody has the address. An address that
// an endpoint still has is freed when the endpoint is detached.
func (a *Agent) Unlease(pool string, addr netip.Addr) error {
	if !a.ready.Load() {
		return heddle.Errorf(heddle.Stopping, "release address", addr.String(), "", "call again when the agent is back")
	}
	return a.reservations.unlease(pool, addr)
}

// Leases lists the leases, by pool and address.
func (a *Agent) Leases() []Lease { return a.reservations.listLeases() }
