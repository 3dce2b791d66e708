package ipam

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// TakeOne leases a single address of a subnet: the requested one or, for the zero value, a free
// one. The lease's id is derived from the address. If that id has a lease already, the same address
// is returned.
func (p *Pool) TakeOne(subnet netip.Prefix, want netip.Addr, name func(netip.Addr) heddle.EndpointID) (netip.Prefix, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.families, func(l *familyPool) bool { return l.subnet == subnet })
	if i < 0 {
		return netip.Prefix{}, heddle.Errorf(heddle.OutsidePool, "lease an address of", subnet.String(), "network "+p.name+" has no such subnet",
			"name a subnet of the network ('heddle network show "+p.name+"')")
	}
	l := p.families[i]
	if !want.IsValid() {
		a, ok := l.next()
		if !ok {
			return netip.Prefix{}, p.exhausted(name(want), l)
		}
		want = a
	}
	id := name(want)
	if p.leases[id] != nil {
		return netip.PrefixFrom(want, subnet.Bits()), nil
	}
	if err := l.checkFree(id, want); err != nil {
		return netip.Prefix{}, err
	}
	addr := netip.PrefixFrom(want, subnet.Bits())
	p.record(id, []netip.Prefix{addr})
	return addr, nil
}
