package agent

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// Lease is an address that is set aside without an endpoint: an engine gives it to a container,
// which is then attached with it.
type Lease struct {
	// Pool is the pool's ID.
	Pool string       `json:"pool"`
	Addr netip.Prefix `json:"addr"`
	MAC  heddle.MAC   `json:"mac,omitempty"`
	// Unasked says that the engine did not ask for a certain address.
	Unasked bool `json:"unasked,omitempty"`
	// Released says that the lease ends when its address has no endpoint any more. It is not
	// recorded.
	Released bool `json:"-"`
	// since is when it was taken, or last had an endpoint, or the agent started.
	since time.Time
}

// leaseTime is how long a lease without an endpoint is kept. An engine that got its answer too
// late has asked again, and does not know of the first lease.
const leaseTime = 2 * time.Minute

func leaseKey(pool string, addr netip.Addr) string { return pool + "|" + addr.String() }

// leaseID is the ID under which a leased address is held in the network's pool.
func leaseID(addr netip.Addr) heddle.EndpointID {
	return heddle.EndpointID{Container: "lease", IfName: addr.String()}
}

// lease is Agent.Lease.
func (k *reservations) lease(ctx context.Context, pool string, addr netip.Addr, mac heddle.MAC) (netip.Prefix, error) {
	p, err := poolByID(pool)
	if err != nil {
		return netip.Prefix{}, err
	}
	if addr.IsValid() && !p.Subnet.Contains(addr) {
		return netip.Prefix{}, heddle.Errorf(heddle.OutsidePool, "lease address", addr.String()+" from pool "+pool,
			"the address is outside the pool",
			"choose an address inside "+p.Subnet.String())
	}
	n := k.networks.withSubnet(p.Subnet)
	if n != nil {
		k.removals.await(n.ID)
	}
	if old, known := k.leaseAt(p.ID, addr); known && addr.IsValid() {
		if old.MAC == mac && !old.Released {
			return old.Addr, nil
		}
		return netip.Prefix{}, heddle.Errorf(heddle.AddressTaken, "lease address", addr.String()+" from pool "+pool,
			"the address is leased already", "choose another address")
	}
	l := Lease{Pool: p.ID, MAC: mac, Unasked: !addr.IsValid(), since: time.Now()}
	switch {
	case n == nil && !addr.IsValid():
		return netip.Prefix{}, heddle.Errorf(heddle.NoNetwork, "lease address from pool", pool,
			"the pool has no network yet",
			"name an address, or create the network first")
	case n == nil || addr.IsValid() && n.ownsAddress(addr):
		l.Addr = netip.PrefixFrom(addr, p.Subnet.Bits())
	default:
		var again bool
		if l.Unasked {
			l.Addr, again = k.takeReturned(n, p)
		}
		if again {
			break
		}
		// leaseOne may wait for the store, so no lock is held
		if l.Addr, err = k.blocks.leaseOne(ctx, n, p.Subnet, addr); err != nil {
			return netip.Prefix{}, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.keepLeaseLocked(l); err != nil {
		k.freeLease(l)
		return netip.Prefix{}, err
	}
	return l.Addr, nil
}

func (k *reservations) leaseAt(pool string, addr netip.Addr) (Lease, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l, known := k.leases[leaseKey(pool, addr)]
	return l, known
}

// ownsAddress reports whether an address belongs to the network itself (a gateway or a reserved
// address). No container gets it, so its lease takes nothing from the pool.
func (n *network) ownsAddress(addr netip.Addr) bool {
	return slices.Contains(n.Gateways, addr) || slices.Contains(n.Reserved, addr)
}

// keepLeaseLocked records a lease, on disk first.
func (k *reservations) keepLeaseLocked(l Lease) error {
	if err := k.trip.step("ledger lease"); err != nil {
		return err
	}
	if err := k.ledger.putLease(l); err != nil {
		return err
	}
	k.leases[leaseKey(l.Pool, l.Addr.Addr())] = l
	return nil
}

// leaseOne takes an address of the network, from the cluster if necessary.
func (bs *blocks) leaseOne(ctx context.Context, n *network, subnet netip.Prefix,
	addr netip.Addr) (netip.Prefix, error) {
	if n.Shared && bs.cluster != nil {
		return bs.leaseOneShared(ctx, n, subnet, addr)
	}
	got, err := n.pool.TakeOne(subnet, addr, leaseID)
	for err == nil && !addr.IsValid() && hostHas(bs.host.now(), n, []netip.Prefix{got}) {
		n.pool.Give(leaseID(got.Addr())) // to quarantine: the next one is another
		got, err = n.pool.TakeOne(subnet, addr, leaseID)
	}
	return got, err
}

// listLeases is Agent.Leases.
func (k *reservations) listLeases() []Lease {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []Lease
	for _, l := range k.leases {
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
