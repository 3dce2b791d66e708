package kernel

import (
	"net/netip"

	"github.com/heddle-network/heddle"
)

func (d *differ) forwards(wanted []heddle.Forward) error {
	live, err := d.s.forwards()
	if err != nil {
		return err
	}
	type id struct {
		index int
		mac   heddle.MAC
		self  bool
	}
	there := map[id]entry{}
	for _, e := range live {
		there[id{e.index, e.mac, e.self}] = e
	}
	return each(wanted, func(f heddle.Forward) error {
		have, ok := there[id{d.index(f.Link), f.MAC, f.Dst.IsValid()}]
		switch {
		case !ok:
			return d.missing(f)
		case f.Dst.IsValid() && !have.leads(f.Dst):
			return d.differs(f, "want %s permanent, have %s permanent %v with %d settings of its own", f.Dst, have.addr, have.permanent(), len(have.aside))
		}
		return nil
	})
}

func (d *differ) addresses(wanted []heddle.Address) error {
	live, err := d.s.addresses(0)
	if err != nil {
		return err
	}
	there := map[addressAt]bool{}
	for _, a := range live {
		there[a] = true
	}
	return each(wanted, func(a heddle.Address) error {
		if !there[addressAt{d.index(a.Link), a.Prefix}] {
			return d.missing(a)
		}
		return nil
	})
}

func (d *differ) neighbours(wanted []heddle.Neighbour) error {
	live, err := d.s.neighbours()
	if err != nil {
		return err
	}
	type id struct {
		index int
		addr  netip.Addr
	}
	there := map[id]entry{}
	for _, e := range live {
		there[id{e.index, e.addr}] = e
	}
	return each(wanted, func(n heddle.Neighbour) error {
		have, ok := there[id{d.index(n.Link), n.Addr}]
		switch {
		case !ok:
			return d.missing(n)
		case !have.permanent() || have.mac != n.MAC:
			return d.differs(n, "want %s permanent, have %s permanent %v", n.MAC, have.mac, have.permanent())
		}
		return nil
	})
}

func (d *differ) routes(wanted []heddle.Route) error {
	live, err := d.s.routes()
	if err != nil {
		return err
	}
	there := map[routeID]routeAt{}
	for _, r := range live {
		there[idOf(r.Route)] = r
	}
	return each(wanted, func(x heddle.Route) error {
		want := routeAt{Route: x, index: d.index(x.Link)}
		if x.Type != "" {
			want.index = 0
		}
		have, ok := there[idOf(x)]
		switch {
		case !ok:
			return d.missing(x)
		case !have.same(want):
			have.Link = d.nameOf(have.index)
			return d.differs(x, "want %s, have %s", x, plain(have.Route))
		}
		return nil
	})
}

func (d *differ) rules(wanted []heddle.Rule) error {
	live, err := d.s.rules()
	if err != nil {
		return err
	}
	there := map[string][]heddle.Rule{}
	for _, r := range live {
		there[r.Key()] = append(there[r.Key()], r)
	}
	return each(wanted, func(r heddle.Rule) error {
		switch have := there[r.Key()]; {
		case len(have) == 0:
			return d.missing(r)
		case len(have) > 1 || have[0] != r:
			return d.differs(r, "want table %d, have %s", r.Table, have)
		}
		return nil
	})
}
