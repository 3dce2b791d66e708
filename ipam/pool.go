// Package ipam gives out the addresses of one network on one host. Addresses that were never used
// come first, in ascending order. Then come freed addresses, beginning with the one that was freed
// first. So a peer that remembers the old owner has the most time to forget it.
package ipam

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
)

// Quarantine is how long a freed address counts as quarantined.
const Quarantine = 60 * time.Second

// Pool holds the leases of one network. Take and Give cost the same however
// large the network and however full the pool. It is safe for parallel use.
type Pool struct {
	name       string
	quarantine time.Duration
	now        func() time.Time

	mu sync.Mutex // guards what follows
	// families has one pool for each subnet, in the same order.
	families []*familyPool
	leases   map[heddle.EndpointID]*lease
}

// lease is what an endpoint holds: at most one address of each family.
type lease struct {
	id    heddle.EndpointID
	addrs []netip.Prefix
}

// Option changes a new pool.
type Option func(*Pool)

// WithQuarantine sets how long a freed address is quarantined.
func WithQuarantine(d time.Duration) Option { return func(p *Pool) { p.quarantine = d } }

// WithClock sets the clock of the pool.
func WithClock(now func() time.Time) Option { return func(p *Pool) { p.now = now } }

// NewPool makes the pool of a network that Check has returned. A network without subnets has a pool
// whose leases have no addresses.
func NewPool(n heddle.Network, options ...Option) *Pool {
	p := &Pool{
		name:       n.Name,
		quarantine: Quarantine,
		now:        time.Now,
		leases:     map[heddle.EndpointID]*lease{},
	}
	for _, s := range n.Subnets {
		p.families = append(p.families, newFamilyPool(n, s))
	}
	for _, o := range options {
		o(p)
	}
	return p
}

// Gives is true: a network with subnets has addresses.
func (p *Pool) Gives() bool { return true }

// Take leases one address of every family to id, in the order of the subnets, or none at all. An id
// with a lease gets the same lease again, whatever it requests now.
//
// want has at most one address per family. A requested address may be reserved, in quarantine or
// outside the ranges. It must not be the gateway, the network or the broadcast address, or somebody
// else's address.
func (p *Pool) Take(id heddle.EndpointID, want []netip.Addr) ([]netip.Prefix, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.leases[id]; known != nil {
		return slices.Clone(known.addrs), nil
	}
	addrs, err := p.choose(id, want)
	if err != nil {
		return nil, err
	}
	p.record(id, addrs)
	return slices.Clone(addrs), nil
}

// Preview returns what Take would return, and leases nothing.
func (p *Pool) Preview(id heddle.EndpointID, want []netip.Addr) ([]netip.Prefix, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.leases[id]; known != nil {
		return slices.Clone(known.addrs), nil
	}
	return p.choose(id, want)
}

// choose finds an address of every family, but does not claim them.
func (p *Pool) choose(id heddle.EndpointID, want []netip.Addr) ([]netip.Prefix, error) {
	addrs, err := p.checkRequested(id, want, (*familyPool).checkFree)
	if err != nil {
		return nil, err
	}
	for i, l := range p.families {
		if addrs[i].IsValid() {
			continue
		}
		a, ok := l.next()
		if !ok {
			return nil, p.exhausted(id, l)
		}
		addrs[i] = netip.PrefixFrom(a, l.subnet.Bits())
	}
	return addrs, nil
}

// Give ends a lease and returns its addresses, which go to the end of the queue. For an id without
// a lease it does nothing.
func (p *Pool) Give(id heddle.EndpointID) (freed []netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.leases[id]
	if ended == nil {
		return nil
	}
	now := p.now()
	for _, a := range ended.addrs {
		_, l := p.familyOf(a.Addr())
		l.release(a.Addr(), now)
		freed = append(freed, a.Addr())
	}
	delete(p.leases, id)
	return freed
}

// Held returns a copy of all leases.
func (p *Pool) Held() map[heddle.EndpointID][]netip.Prefix {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[heddle.EndpointID][]netip.Prefix, len(p.leases))
	for id, lease := range p.leases {
		all[id] = slices.Clone(lease.addrs)
	}
	return all
}

// record makes a lease of addresses that are known to be free.
func (p *Pool) record(id heddle.EndpointID, addrs []netip.Prefix) {
	made := &lease{id, addrs}
	for _, a := range addrs {
		_, l := p.familyOf(a.Addr())
		l.claim(a.Addr(), made)
	}
	p.leases[id] = made
}

// familyOf returns the pool of an address's family and its index; -1 if the network does not have
// the family.
func (p *Pool) familyOf(a netip.Addr) (int, *familyPool) {
	for i, l := range p.families {
		if l.family().Has(a) {
			return i, l
		}
	}
	return -1, nil
}
