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
		// not on disk: an agent that dies now keeps the address until it expires
		l.Released = true
		k.leases[leaseKey(id, addr)] = l
		return nil
	}
	return k.endLeaseLocked(l)
}

// endLeaseLocked drops a lease that was given back. An address that nobody had asked for by
// name becomes the next to be given out.
func (k *reservations) endLeaseLocked(l Lease) error {
	if err := k.dropLeaseLocked(l); err != nil || !l.Unasked {
		return err
	}
	k.returned[l.Pool] = append(k.recentlyReturnedLocked(l.Pool), returnedAddr{l.Addr.Addr(), time.Now()})
	return nil
}

// returnedAddr is an address that an engine gave back.
type returnedAddr struct {
	addr netip.Addr
	at   time.Time
}

// reuseTime is how long an address that was given back is preferred for the next lease: an
// engine that restarts a container asks without saying for which one.
const reuseTime = time.Minute

// recentlyReturnedLocked are the addresses that were given back not long ago, oldest first.
func (k *reservations) recentlyReturnedLocked(pool string) []returnedAddr {
	return slices.DeleteFunc(k.returned[pool], func(g returnedAddr) bool { return time.Since(g.at) >= reuseTime })
}

// takeReturned leases the address that was given back first of those that were just
// now, if nobody else has it: an engine that stops several containers and starts
// them in the same order finds each its own.
func (k *reservations) takeReturned(n *network, p Pool) (netip.Prefix, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.recentlyReturnedLocked(p.ID)
	for len(all) > 0 {
		addr := all[0].addr
		all = all[1:]
		k.returned[p.ID] = all
		if _, held := n.pool.Holder(addr); held {
			continue // somebody asked for it by name meanwhile
		}
		if got, err := k.blocks.leaseOwned(n, p.Subnet, addr); err == nil {
			return got, true
		}
	}
	delete(k.returned, p.ID)
	return netip.Prefix{}, false
}

// leaseOwned leases an address if it is this host's to give.
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
			return netip.Prefix{}, heddle.Errorf(heddle.AddressTaken, "lease address", addr.String(), "it is in another host's block", "choose another one")
		}
	}
	if hostHas(bs.host.now(), n, []netip.Prefix{heddle.Single(addr)}) {
		return netip.Prefix{}, heddle.Errorf(heddle.AddressTaken, "lease address", addr.String(), "the host itself has it", "choose another one")
	}
	return n.pool.TakeOne(subnet, addr, leaseID)
}

// dropLeaseLocked ends a lease.
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

// expireLocked drops leases that no endpoint has for long, and those that were released
// while one had them. The network's own addresses stay.
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
