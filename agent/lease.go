package agent

import (
	"context"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// Lease is an address that is set aside without an endpoint: somebody else's
// program gives it to a container, which then is attached with it.
type Lease struct {
	// Pool is the pool's ID.
	Pool string       `json:"pool"`
	Addr netip.Prefix `json:"addr"`
	MAC  heddle.MAC   `json:"mac,omitempty"`
}

// Lease takes an address of a pool: the one asked for or, with the zero address,
// a free one. It is on disk before Lease returns. The same address asked for
// with the same MAC again is the same lease.
func (a *Agent) Lease(ctx context.Context, pool string, addr netip.Addr, mac heddle.MAC) (netip.Prefix, error) {
	return netip.Prefix{}, heddle.Errorf(heddle.Stopping, "lease from pool", pool, "not made yet")
}

// Unlease gives an address back. One that nobody has is given back already.
func (a *Agent) Unlease(pool string, addr netip.Addr) error { return nil }

// Leases lists what is set aside.
func (a *Agent) Leases() []Lease { return nil }
