package agent

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// Lease is an address that is set aside without an endpoint: an engine gives it to
// a container, which then is attached with it.
type Lease struct {
	// Pool is the pool's ID.
	Pool string       `json:"pool"`
	Addr netip.Prefix `json:"addr"`
	MAC  heddle.MAC   `json:"mac,omitempty"`
	// Unasked says that no certain address was asked for.
	Unasked bool `json:"unasked,omitempty"`
	// Released says that it goes with the endpoint that still has it. It is not recorded.
	Released bool `json:"-"`
	// since is when it was taken, or last had an endpoint, or the agent started.
	since time.Time
}

// leaseTime is how long a lease is kept that no endpoint has: an engine whose
// request was answered too late has asked again, and knows nothing of the first.
const leaseTime = 2 * time.Minute

func leaseKey(pool string, addr netip.Addr) string { return pool + "|" + addr.String() }

// leaseID is who has a leased address in the network's pool.
func leaseID(addr netip.Addr) heddle.EndpointID {
	return heddle.EndpointID{Container: "lease", IfName: addr.String()}
}

// Lease takes an address of a pool: the one asked for or, with the zero address,
// a free one. It is on disk before Lease returns. The same address asked for
// with the same MAC again is the same lease, unless it was given back and an
// endpoint still has it: then it is refused. Before there is a network on the pool,
// only what is asked for by name can be leased.
func (a *Agent) Lease(ctx context.Context, pool string, addr netip.Addr, mac heddle.MAC) (netip.Prefix, error) {
	if !a.ready.Load() {
		return netip.Prefix{}, heddle.Errorf(heddle.Stopping, "lease from pool", pool, "call again when the agent is back")
	}
	p, err := a.poolByID(pool)
	if err != nil {
		return netip.Prefix{}, err
	}
	if addr.IsValid() && !p.Subnet.Contains(addr) {
		return netip.Prefix{}, heddle.Errorf(heddle.OutsidePool, "lease", addr.String()+" from pool "+pool, "choose one inside "+p.Subnet.String())
	}
	n := a.networks.on(p.Subnet)
	if n != nil {
		a.departures.await(n.ID)
	}
	if old, known := a.leaseAt(p.ID, addr); known && addr.IsValid() {
		if old.MAC == mac && !old.Released {
			return old.Addr, nil
		}
		return netip.Prefix{}, heddle.Errorf(heddle.AddressTaken, "lease", addr.String()+" from pool "+pool, "it is leased already; choose another one")
	}
	l := Lease{Pool: p.ID, MAC: mac, Unasked: !addr.IsValid(), since: time.Now()}
	switch {
	case n == nil && !addr.IsValid():
		return netip.Prefix{}, heddle.Errorf(heddle.NoNetwork, "lease from pool", pool, "it has no network yet; name an address, or create the network first")
	case n == nil || addr.IsValid() && n.keeps(addr):
		l.Addr = netip.PrefixFrom(addr, p.Subnet.Bits())
	default:
		var again bool
		if l.Unasked {
			l.Addr, again = a.takeAgain(n, p)
		}
		if again {
			break
		}
		// nobody waits for this one, who may wait for the store
		if l.Addr, err = a.takeOne(ctx, n, p.Subnet, addr); err != nil {
			return netip.Prefix{}, err
		}
	}
	a.leaseOps.Lock()
	defer a.leaseOps.Unlock()
	if err := a.keepLease(l); err != nil {
		a.giveLease(l)
		return netip.Prefix{}, err
	}
	return l.Addr, nil
}

func (a *Agent) leaseAt(pool string, addr netip.Addr) (Lease, bool) {
	a.leaseOps.Lock()
	defer a.leaseOps.Unlock()
	l, known := a.leases[leaseKey(pool, addr)]
	return l, known
}

// keeps reports whether an address is the network's own: no container has it, and
// to lease it takes nothing from anybody.
func (n *network) keeps(addr netip.Addr) bool {
	return slices.Contains(n.Gateways, addr) || slices.Contains(n.Reserved, addr)
}

// keepLease records a lease, on disk first. The caller holds leaseOps.
func (a *Agent) keepLease(l Lease) error {
	if err := a.trip.step("ledger lease"); err != nil {
		return err
	}
	if err := a.ledger.putLease(l); err != nil {
		return err
	}
	a.leases[leaseKey(l.Pool, l.Addr.Addr())] = l
	return nil
}

// takeOne takes an address of the network, of the cluster if need be.
func (a *Agent) takeOne(ctx context.Context, n *network, subnet netip.Prefix, addr netip.Addr) (netip.Prefix, error) {
	if n.Shared && a.opt.Cluster != nil {
		return a.takeOneShared(ctx, n, subnet, addr)
	}
	got, err := n.pool.TakeOne(subnet, addr, leaseID)
	for err == nil && !addr.IsValid() && a.hostHas(n, []netip.Prefix{got}) {
		n.pool.Give(leaseID(got.Addr())) // to quarantine: the next one is another
		got, err = n.pool.TakeOne(subnet, addr, leaseID)
	}
	return got, err
}

// Leases lists what is set aside, by pool and address.
func (a *Agent) Leases() []Lease {
	a.leaseOps.Lock()
	defer a.leaseOps.Unlock()
	var all []Lease
	for _, l := range a.leases {
		all = append(all, l)
	}
	slices.SortFunc(all, func(x, y Lease) int {
		if c := strings.Compare(x.Pool, y.Pool); c != 0 {
			return c
		}
		return x.Addr.Addr().Compare(y.Addr.Addr())
	})
	return all
}
