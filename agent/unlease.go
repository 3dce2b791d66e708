package agent

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// unlease is Agent.Unlease.
func (k *books) unlease(pool string, addr netip.Addr) error {
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
	if k.leaseUsed(l, k.roll.addresses()) {
		// not on disk: an agent that dies now keeps the address until it expires
		l.Released = true
		k.leases[leaseKey(id, addr)] = l
		return nil
	}
	return k.endLeaseLocked(l)
}

// endLeaseLocked drops a lease that was given back. An address that nobody had asked for by
// name becomes the next to be given out.
func (k *books) endLeaseLocked(l Lease) error {
	if err := k.dropLeaseLocked(l); err != nil || !l.Unasked {
		return err
	}
	k.given[l.Pool] = append(k.givenJustNowLocked(l.Pool), given{l.Addr.Addr(), time.Now()})
	return nil
}

// given is an address that an engine gave back.
type given struct {
	addr netip.Addr
	at   time.Time
}

// againTime is how long an address that was given back is preferred for the next lease: an
// engine that restarts a container asks without saying for which one.
const againTime = time.Minute

// givenJustNowLocked are the addresses that were given back not long ago, oldest first.
func (k *books) givenJustNowLocked(pool string) []given {
	return slices.DeleteFunc(k.given[pool], func(g given) bool { return time.Since(g.at) >= againTime })
}

// takeAgain leases the address that was given back first of those that were just
// now, if nobody else has it: an engine that stops several containers and starts
// them in the same order finds each its own.
func (k *books) takeAgain(n *network, p Pool) (netip.Prefix, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.givenJustNowLocked(p.ID)
	for len(all) > 0 {
		addr := all[0].addr
		all = all[1:]
		k.given[p.ID] = all
		if _, held := n.pool.Holder(addr); held {
			continue // somebody asked for it by name meanwhile
		}
		if got, err := k.blocks.takeOwned(n, p.Subnet, addr); err == nil {
			return got, true
		}
	}
	delete(k.given, p.ID)
	return netip.Prefix{}, false
}

// takeOwned leases an address if it is this host's to give.
func (bs *blocks) takeOwned(n *network, subnet netip.Prefix, addr netip.Addr) (netip.Prefix, error) {
	if n.Shared && bs.cluster != nil {
		bs.mu.Lock()
		defer bs.mu.Unlock()
		v := bs.cluster.View()
		bs.fitLocked(n, v)
		if err := refusesNew(n, v); err != nil {
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
func (k *books) dropLeaseLocked(l Lease) error {
	if err := k.trip.step("ledger unlease"); err != nil {
		return err
	}
	if err := k.ledger.dropLease(l); err != nil {
		return err
	}
	delete(k.leases, leaseKey(l.Pool, l.Addr.Addr()))
	k.giveLease(l)
	return nil
}

func (k *books) giveLease(l Lease) {
	p, err := poolByID(l.Pool)
	if err != nil {
		return
	}
	if n := k.networks.on(p.Subnet); n != nil {
		k.blocks.giveAddresses(n, leaseID(l.Addr.Addr()))
	}
}

func (k *books) leaseUsed(l Lease, used map[heddle.Pin]bool) bool {
	p, err := poolByID(l.Pool)
	if err != nil {
		return false
	}
	n := k.networks.on(p.Subnet)
	return n != nil && used[heddle.Pin{Network: n.ID, Addr: l.Addr.Addr()}]
}

// expireLocked drops leases that no endpoint has for long, and those that were released
// while one had them. The network's own addresses stay.
func (k *books) expireLocked() {
	used := k.roll.addresses()
	for key, l := range k.leases {
		p, err := poolByID(l.Pool)
		if err != nil {
			continue
		}
		n := k.networks.on(p.Subnet)
		switch {
		case n != nil && n.keeps(l.Addr.Addr()):
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

func (k *books) leaseTime() time.Duration {
	if k.keepFor > 0 {
		return k.keepFor
	}
	return leaseTime
}

// tend drops expired leases, and pools that never got a network.
func (k *books) tend() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expireLocked()
	k.forgetPoolsLocked()
}
