package agent

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// unlease is Agent.Unlease.
func (k *reservations) unlease(pool string, addr netip.Addr) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	id := pool
	if p, err := poolByID(pool); err == nil {
		id = p.ID
	}
	l, known := k.leases[leaseKey(id, addr)]
	if !known {
		return nil
	}
	if k.leaseUsed(l, k.records.addresses()) {
		// not on disk: if the agent dies now, the lease stays until it expires
		l.Released = true
		k.leases[leaseKey(id, addr)] = l
		return nil
	}
	return k.endLeaseLocked(l)
}

// endLeaseLocked ends a lease that was given back. If no certain address had been asked for, the
// address is given out again first.
func (k *reservations) endLeaseLocked(l Lease) error {
	if err := k.dropLeaseLocked(l); err != nil || !l.Unasked {
		return err
	}
	k.returned[l.Pool] = append(k.recentlyReturnedLocked(l.Pool), returnedAddr{l.Addr.Addr(), time.Now()})
	return nil
}

// returnedAddr is an address that an engine has given back.
type returnedAddr struct {
	addr netip.Addr
	at   time.Time
}

// reuseTime is how long an address that was given back is preferred for the next lease. An engine
// that restarts a container does not ask for its previous address.
const reuseTime = time.Minute

// recentlyReturnedLocked returns the addresses that were given back not long ago, the oldest
// first.
func (k *reservations) recentlyReturnedLocked(pool string) []returnedAddr {
	return slices.DeleteFunc(k.returned[pool], func(g returnedAddr) bool { return time.Since(g.at) >= reuseTime })
}

// takeReturned leases the address that was given back first among recent ones, if it is free. So
// containers that are stopped and then started in the same order get the same addresses.
func (k *reservations) takeReturned(n *network, p Pool) (netip.Prefix, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.recentlyReturnedLocked(p.ID)
	for len(all) > 0 {
		addr := all[0].addr
		all = all[1:]
		k.returned[p.ID] = all
		if _, held := n.pool.Holder(addr); held {
			continue // somebody has asked for it by name meanwhile
		}
		if got, err := k.blocks.leaseOwned(n, p.Subnet, addr); err == nil {
			return got, true
		}
	}
	delete(k.returned, p.ID)
	return netip.Prefix{}, false
}

// leaseOwned leases an address if this host may give it out.
func (bs *blocks) leaseOwned(n *network, subnet netip.Prefix, addr netip.Addr) (netip.Prefix, error) {
	if n.Shared && bs.cluster != nil {
		bs.mu.Lock()
		defer bs.mu.Unlock()
		v := bs.cluster.View()
		bs.fitPoolLocked(n, v)
		if err := checkAcceptsNew(n, v); err != nil {
			return netip.Prefix{}, err
		}
		if !bs.ownsLocked(n.ID, addr, v) {
			return netip.Prefix{}, heddle.Errorf(heddle.AddressTaken, "lease address", addr.String(),
				"the address is in another host's block", "choose another address")
		}
	}
	if hostHas(bs.host.now(), n, []netip.Prefix{heddle.Single(addr)}) {
		return netip.Prefix{}, heddle.Errorf(heddle.AddressTaken, "lease address", addr.String(),
			"the host itself has the address", "choose another address")
	}
	return n.pool.TakeOne(subnet, addr, leaseID)
}

// dropLeaseLocked drops a lease and frees its address.
func (k *reservations) dropLeaseLocked(l Lease) error {
	if err := k.trip.step("ledger unlease"); err != nil {
		return err
	}
	if err := k.ledger.dropLease(l); err != nil {
		return err
	}
	delete(k.leases, leaseKey(l.Pool, l.Addr.Addr()))
	k.freeLease(l)
	return nil
}

func (k *reservations) freeLease(l Lease) {
	p, err := poolByID(l.Pool)
	if err != nil {
		return
	}
	if n := k.networks.withSubnet(p.Subnet); n != nil {
		k.blocks.freeAddresses(n, leaseID(l.Addr.Addr()))
	}
}

func (k *reservations) leaseUsed(l Lease, used map[heddle.Pin]bool) bool {
	p, err := poolByID(l.Pool)
	if err != nil {
		return false
	}
	n := k.networks.withSubnet(p.Subnet)
	return n != nil && used[heddle.Pin{Network: n.ID, Addr: l.Addr.Addr()}]
}

// expireLocked drops leases that have had no endpoint for long, and those that were released while
// an endpoint had the address. The network's own addresses stay leased.
func (k *reservations) expireLocked() {
	used := k.records.addresses()
	for key, l := range k.leases {
		p, err := poolByID(l.Pool)
		if err != nil {
			continue
		}
		n := k.networks.withSubnet(p.Subnet)
		switch {
		case n != nil && n.ownsAddress(l.Addr.Addr()):
		case k.leaseUsed(l, used):
			l.since = time.Now()
			k.leases[key] = l
		case l.Released || time.Since(l.since) > k.leaseTime():
			if err := k.dropLeaseLocked(l); err != nil {
				k.log.Error("an address is not given back", "address", l.Addr, "error", err)
			}
		}
	}
}

func (k *reservations) leaseTime() time.Duration {
	if k.leaseLimit > 0 {
		return k.leaseLimit
	}
	return leaseTime
}

// cleanUp drops expired leases, and pools that never got a network.
func (k *reservations) cleanUp() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expireLocked()
	k.forgetPoolsLocked()
}
