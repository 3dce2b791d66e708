package agent

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
)

// books say what engines have asked for before there is an endpoint or a network, with the
// records of it on the disk. Its lock is held while they are written: what is told is there.
type books struct {
	cluster    cluster.API // nil for a host alone
	kernel     Sights
	ledger     *ledger
	log        *slog.Logger
	trip       tripwire
	host       *hostView
	networks   *register
	roll       *roll
	departures *departures
	blocks     *blocks
	// keepFor is how long an address stays leased that no endpoint has; leaseTime if 0.
	keepFor time.Duration

	mu mutex[atBooks]
	// leases are set aside for endpoints to come, subnets for networks to come.
	leases  map[string]Lease
	subnets map[string]Pool
	// given are the addresses that were given back last, by pool.
	given map[string][]given
}

// RequestPool speaks for a subnet: the one asked for, the same pool however often
// it is asked for, or a free one that overlaps nothing on this host nor in the
// cluster, another each time. It is on disk before RequestPool returns.
func (a *Agent) RequestPool(ask PoolAsk) (Pool, error) {
	if !a.ready.Load() {
		return Pool{}, heddle.Errorf(heddle.Stopping, "pool", ask.Subnet.String(), "call again when the agent is back")
	}
	return a.books.request(ask)
}

// ReleasePool ends a pool. One that is not there is released already.
func (a *Agent) ReleasePool(id string) error {
	if !a.ready.Load() {
		return heddle.Errorf(heddle.Stopping, "release pool", id, "call again when the agent is back")
	}
	return a.books.release(id)
}

// Pools lists the pools, by ID.
func (a *Agent) Pools() []Pool { return a.books.pools() }

// Lease takes an address of a pool: the one asked for or, with the zero address,
// a free one. It is on disk before Lease returns. The same address asked for
// with the same MAC again is the same lease, unless it was given back and an
// endpoint still has it: then it is refused. Before there is a network on the pool,
// only what is asked for by name can be leased.
func (a *Agent) Lease(ctx context.Context, pool string, addr netip.Addr, mac heddle.MAC) (netip.Prefix, error) {
	if !a.ready.Load() {
		return netip.Prefix{}, heddle.Errorf(heddle.Stopping, "lease from pool", pool, "call again when the agent is back")
	}
	return a.books.lease(ctx, pool, addr, mac)
}

// Unlease gives an address back. One that nobody has is given back already; one
// that an endpoint still has goes when that is detached.
func (a *Agent) Unlease(pool string, addr netip.Addr) error {
	if !a.ready.Load() {
		return heddle.Errorf(heddle.Stopping, "release address", addr.String(), "call again when the agent is back")
	}
	return a.books.unlease(pool, addr)
}

// Leases lists what is set aside, by pool and address.
func (a *Agent) Leases() []Lease { return a.books.all() }
