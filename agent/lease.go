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
	// Released says that it goes with the endpoint that still has it.
	Released bool `json:"released,omitempty"`
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
// with the same MAC again is the same lease. Before there is a network on the pool,
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
	if old, known := a.leaseAt(p.ID, addr); known && addr.IsValid() {
		if old.MAC == mac && !old.Released {
			return old.Addr, nil
		}
		return netip.Prefix{}, heddle.Errorf(heddle.AddressTaken, "lease", addr.String()+" from pool "+pool, "it is leased already; choose another one")
	}
	l := Lease{Pool: p.ID, MAC: mac, Unasked: !addr.IsValid(), since: time.Now()}
	n := a.networkOf(p)
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
	if err := a.step("ledger lease"); err != nil {
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
		l.Released = true
		return a.keepLease(l)
	}
	if err := a.dropLease(l); err != nil || !l.Unasked {
		return err
	}
	a.given[id] = append(a.given[id], given{addr, time.Now()})
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

// takeAgain leases the address that was given back last, if that was just now and
// nobody else has it.
func (a *Agent) takeAgain(n *network, p Pool) (netip.Prefix, bool) {
	a.leaseOps.Lock()
	defer a.leaseOps.Unlock()
	all := a.given[p.ID]
	for i := len(all) - 1; i >= 0 && time.Since(all[i].at) < againTime; i-- {
		addr := all[i].addr
		a.given[p.ID] = all[:i]
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
	if n := a.networkOf(p); n != nil && n.pool != nil {
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

// leased reports whether an endpoint's wanted addresses are all leased, and
// returns them.
func (n *network) leased(ips []netip.Addr) (all []netip.Prefix, is bool) {
	for _, s := range n.Subnets {
		for _, ip := range ips {
			if holder, held := n.pool.Holder(ip); held && s.Contains(ip) && holder == leaseID(ip) {
				all = append(all, netip.PrefixFrom(ip, s.Bits()))
			}
		}
	}
	return all, len(ips) > 0 && len(all) == len(ips)
}

// claimLeased takes over, for an endpoint, the addresses that were leased for it.
func (a *Agent) claimLeased(n *network, req heddle.AttachRequest) (addrs []netip.Prefix, is bool, err error) {
	if !req.Handover {
		return nil, false, nil
	}
	if addrs, is = n.leased(req.IPs); !is {
		return nil, false, nil
	}
	for _, e := range a.endpointsOn(n.ID) {
		for _, p := range e.Addrs {
			if slices.Contains(addrs, p) && e.ID != req.ID {
				return nil, true, heddle.Errorf(heddle.AddressTaken, "endpoint "+req.ID.String()+" wants", p.Addr().String(), "endpoint "+e.ID.String()+" has it; detach that first")
			}
		}
	}
	return addrs, true, nil
}

// fitLeases puts the leases on a network's subnets into its pool, which is new.
func (a *Agent) fitLeases(n *network) {
	a.leaseOps.Lock()
	defer a.leaseOps.Unlock()
	for _, l := range a.leases {
		p, err := a.poolByID(l.Pool)
		if err != nil || !slices.Contains(n.Subnets, p.Subnet) || n.keeps(l.Addr.Addr()) || n.pool == nil {
			continue
		}
		if _, err := n.pool.TakeOne(p.Subnet, l.Addr.Addr(), leaseID); err != nil {
			a.log.Warn("a lease does not fit its network", "address", l.Addr, "network", n.Name, "error", err)
		}
	}
}

// holdsLeased reports whether an endpoint that is handed over has leased addresses.
func (n *network) holdsLeased(e heddle.Endpoint) bool {
	var ips []netip.Addr
	for _, p := range e.Addrs {
		ips = append(ips, p.Addr())
	}
	_, is := n.leased(ips)
	return e.Handover && is
}
