package ipam_test

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// oracle gives out addresses as package ipam should, slowly and plainly: it
// lists every address.
type oracle struct {
	families []*oracleFamily
	leases   map[heddle.EndpointID][]netip.Addr
	now      time.Time
}

type oracleFamily struct {
	gateway  string
	prefix   netip.Prefix
	inside   []netip.Addr // the whole subnet
	ranges   []netip.Addr // in the ranges' order
	reserved []netip.Addr
	fresh    []netip.Addr
	freed    []oracleFreed
}

type oracleFreed struct {
	addr  netip.Addr
	since time.Time
}

func newOracle(n heddle.Network, now time.Time) *oracle {
	o := &oracle{leases: map[heddle.EndpointID][]netip.Addr{}, now: now}
	for i, s := range n.Subnets {
		f := &oracleFamily{prefix: s, gateway: n.Gateways[i].String(), inside: list(s), reserved: n.Reserved}
		for _, r := range n.Ranges {
			if s.Contains(r.Addr()) {
				f.ranges = append(f.ranges, list(r)...)
			}
		}
		if f.ranges == nil {
			f.ranges = f.inside
		}
		f.fresh = slices.DeleteFunc(slices.Clone(f.ranges), f.barred)
		o.families = append(o.families, f)
	}
	return o
}

func list(p netip.Prefix) []netip.Addr {
	var all []netip.Addr
	for a := p.Addr(); p.Contains(a); a = a.Next() {
		all = append(all, a)
	}
	return all
}

func (f *oracleFamily) system(a netip.Addr) bool {
	broadcast := a.Is4() && a == f.inside[len(f.inside)-1]
	return a.String() == f.gateway || a == f.inside[0] || broadcast
}

func (f *oracleFamily) barred(a netip.Addr) bool {
	return f.system(a) || slices.Contains(f.reserved, a)
}

func (f *oracleFamily) pooled(a netip.Addr) bool {
	return slices.Contains(f.ranges, a) && !f.barred(a)
}

func (o *oracle) held(a netip.Addr) bool {
	for _, lease := range o.leases {
		if slices.Contains(lease, a) {
			return true
		}
	}
	return false
}

// take returns the addresses, or why there are none.
func (o *oracle) take(id heddle.EndpointID, want []netip.Addr) ([]netip.Addr, heddle.Code) {
	if lease, ok := o.leases[id]; ok {
		return lease, ""
	}
	for _, a := range want {
		if code := o.refuses(a); code != "" {
			return nil, code
		}
	}
	var lease []netip.Addr
	for _, f := range o.families {
		mine := func(a netip.Addr) bool { return heddle.FamilyOf(a) == heddle.FamilyOf(f.prefix.Addr()) }
		if i := slices.IndexFunc(want, mine); i >= 0 {
			lease = append(lease, want[i])
		} else if len(f.fresh) > 0 {
			lease = append(lease, f.fresh[0])
		} else if len(f.freed) > 0 {
			lease = append(lease, f.freed[0].addr)
		} else {
			return nil, heddle.PoolExhausted
		}
	}
	o.leases[id] = lease
	for i, f := range o.families {
		f.fresh = slices.DeleteFunc(f.fresh, func(a netip.Addr) bool { return a == lease[i] })
		f.freed = slices.DeleteFunc(f.freed, func(x oracleFreed) bool { return x.addr == lease[i] })
	}
	return lease, ""
}

func (o *oracle) refuses(a netip.Addr) heddle.Code {
	for _, f := range o.families {
		if heddle.FamilyOf(a) != heddle.FamilyOf(f.prefix.Addr()) {
			continue
		}
		if !slices.Contains(f.inside, a) {
			return heddle.OutsidePool
		}
		if f.system(a) || o.held(a) {
			return heddle.AddressTaken
		}
		return ""
	}
	return heddle.BadAddress
}

func (o *oracle) give(id heddle.EndpointID) []netip.Addr {
	lease := o.leases[id]
	delete(o.leases, id)
	for i, a := range lease {
		f := o.families[i]
		if !f.pooled(a) {
			continue
		}
		since := o.now
		if n := len(f.freed); n > 0 && since.Before(f.freed[n-1].since) {
			since = f.freed[n-1].since
		}
		f.freed = append(f.freed, oracleFreed{a, since})
	}
	return lease
}

// restart forgets the freed addresses except the given ones, in the order in which they are
// restored, and makes all others fresh, from the cursor on.
func (o *oracle) restart(i int, cursor netip.Addr, kept []oracleFreed) {
	f := o.families[i]
	f.freed = nil
	for _, x := range kept {
		if x.since.After(o.now) {
			x.since = o.now
		}
		f.freed = append(f.freed, x)
	}
	slices.SortStableFunc(f.freed, func(x, y oracleFreed) int { return x.since.Compare(y.since) })
	at := slices.Index(f.ranges, cursor)
	f.fresh = slices.DeleteFunc(slices.Concat(f.ranges[at:], f.ranges[:at]), func(a netip.Addr) bool {
		resting := slices.ContainsFunc(f.freed, func(x oracleFreed) bool { return x.addr == a })
		return f.barred(a) || resting || o.held(a)
	})
}
