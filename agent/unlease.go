package agent

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// Unlease gives an address back. One that nobody has is given back already; one
// that an endpoint still has goes when that is detached.
func (a *Agent) Unlease(pool string, addr netip.Addr) error {
	if !a.ready.Load() {
		return heddle.Errorf(heddle.Stopping, "release address", addr.String(), "call again when the agent is back")
	}
	a.leaseOps.Lock()
	defer a.leaseOps.Unlock()
	id := pool
	if p, err := a.poolByID(pool); err == nil {
		id = p.ID
	}
	l, known := a.leases[leaseKey(id, addr)]
	if !known {
		return nil
	}
	if a.leaseUsed(l, a.addressesInUse()) {
		// not on disk: an agent that dies now keeps the address until it expires
		l.Released = true
		a.leases[leaseKey(id, addr)] = l
		return nil
	}
	return a.endLease(l)
}

// endLease drops a lease that was given back; what nobody had asked for by name is
// the next to be given out. The caller holds leaseOps.
func (a *Agent) endLease(l Lease) error {
	if err := a.dropLease(l); err != nil || !l.Unasked {
		return err
	}
	a.given[l.Pool] = append(a.givenJustNow(l.Pool), given{l.Addr.Addr(), time.Now()})
	return nil
}

// given is an address that an engine gave back.
type given struct {
	addr netip.Addr
	at   time.Time
}

// againTime is how long an address that was given back is the next to be given
// out: an engine that starts a container anew asks without saying for whom.
const againTime = time.Minute

// givenJustNow are the addresses that were given back not long ago, oldest first.
// The caller holds leaseOps.
func (a *Agent) givenJustNow(pool string) []given {
	return slices.DeleteFunc(a.given[pool], func(g given) bool { return time.Since(g.at) >= againTime })
}

// takeAgain leases the address that was given back first of those that were just
// now, if nobody else has it: an engine that stops several containers and starts
// them in the same order finds each its own.
func (a *Agent) takeAgain(n *network, p Pool) (netip.Prefix, bool) {
	a.leaseOps.Lock()
	defer a.leaseOps.Unlock()
	all := a.givenJustNow(p.ID)
	for len(all) > 0 {
		addr := all[0].addr
		all = all[1:]
		a.given[p.ID] = all
		if _, held := n.pool.Holder(addr); held {
			continue // somebody asked for it by name meanwhile
		}
		if got, err := a.takeOwned(n, p.Subnet, addr); err == nil {
			return got, true
		}
	}
	delete(a.given, p.ID)
	return netip.Prefix{}, false
}

// takeOwned leases an address if it is this host's to give.
func (a *Agent) takeOwned(n *network, subnet netip.Prefix, addr netip.Addr) (netip.Prefix, error) {
	if n.Shared && a.opt.Cluster != nil {
		a.pools.Lock()
		defer a.pools.Unlock()
		v := a.opt.Cluster.View()
		a.fitLocked(n, v)
		if err := refusesNew(n, v); err != nil {
			return netip.Prefix{}, err
		}
		if !a.owns(n.ID, addr, v) {
			return netip.Prefix{}, heddle.Errorf(heddle.AddressTaken, "lease", addr.String(), "another host gives it out")
		}
	}
	if a.hostHas(n, []netip.Prefix{heddle.Single(addr)}) {
		return netip.Prefix{}, heddle.Errorf(heddle.AddressTaken, "lease", addr.String(), "the host has it")
	}
	return n.pool.TakeOne(subnet, addr, leaseID)
}

// dropLease ends a lease. The caller holds leaseOps.
func (a *Agent) dropLease(l Lease) error {
	if err := a.step("ledger unlease"); err != nil {
		return err
	}
	if err := a.ledger.dropLease(l); err != nil {
		return err
	}
	delete(a.leases, leaseKey(l.Pool, l.Addr.Addr()))
	a.giveLease(l)
	return nil
}

func (a *Agent) giveLease(l Lease) {
	p, err := a.poolByID(l.Pool)
	if err != nil {
		return
	}
	if n := a.networkOf(p); n != nil {
		a.giveAddresses(n, leaseID(l.Addr.Addr()))
	}
}

// addressesInUse are the addresses that endpoints have, by network.
func (a *Agent) addressesInUse() map[heddle.Pin]bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	all := map[heddle.Pin]bool{}
	for _, r := range a.endpoints {
		for _, p := range r.Endpoint.Addrs {
			all[heddle.Pin{Network: r.Endpoint.Network, Addr: p.Addr()}] = true
		}
	}
	return all
}

func (a *Agent) leaseUsed(l Lease, used map[heddle.Pin]bool) bool {
	p, err := a.poolByID(l.Pool)
	if err != nil {
		return false
	}
	n := a.networkOf(p)
	return n != nil && used[heddle.Pin{Network: n.ID, Addr: l.Addr.Addr()}]
}

// expire drops leases that no endpoint has for long, and those that were released
// while one had them. The network's own addresses stay. The caller holds leaseOps.
func (a *Agent) expire() {
	used := a.addressesInUse()
	for key, l := range a.leases {
		p, err := a.poolByID(l.Pool)
		if err != nil {
			continue
		}
		n := a.networkOf(p)
		switch {
		case n != nil && n.keeps(l.Addr.Addr()):
		case a.leaseUsed(l, used):
			l.since = time.Now()
			a.leases[key] = l
		case l.Released || time.Since(l.since) > a.leaseTime():
			if err := a.dropLease(l); err != nil {
				a.log.Error("an address is not given back", "address", l.Addr, "error", err)
			}
		}
	}
}

func (a *Agent) leaseTime() time.Duration {
	if a.opt.LeaseTime > 0 {
		return a.opt.LeaseTime
	}
	return leaseTime
}

// tendLeases is expire, now and then.
func (a *Agent) tendLeases() {
	a.leaseOps.Lock()
	defer a.leaseOps.Unlock()
	a.expire()
	a.forgetPools()
}
