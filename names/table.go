package names

import (
	"cmp"
	"net/netip"
	"slices"
)

// Table is what a host knows of all its networks. It does not change.
type Table struct {
	indexes []*Index
	// askers has a container for each route by which it asks. It is nil if two containers say
	// that they are there.
	askers  map[route]*Asker
	listens []netip.Addr
}

// route is the way of a question: the address that was asked, and the source.
type route struct{ listen, source netip.Addr }

// NewTable makes a table of networks.
func NewTable(all ...*Index) *Table {
	t := &Table{indexes: all, askers: map[route]*Asker{}}
	containers := map[string]*Asker{}
	for _, x := range all {
		t.listens = append(t.listens, x.Listen...)
		for _, e := range x.Endpoints {
			if e.Host != "" {
				continue
			}
			of := cmp.Or(e.Pod, e.ID.Container)
			a := containers[of]
			if a == nil {
				a = &Asker{Container: of, Internal: true}
				containers[of] = a
			}
			a.join(x, e)
			t.addAsker(a, x, e)
		}
	}
	slices.SortFunc(t.listens, netip.Addr.Compare)
	t.listens = slices.Compact(t.listens)
	return t
}

func (t *Table) addAsker(a *Asker, x *Index, e Endpoint) {
	for _, listen := range x.Listen {
		for _, source := range e.Addrs {
			if listen.Is4() != source.Is4() {
				continue
			}
			at := route{listen, source}
			if other, taken := t.askers[at]; taken && other != a {
				t.askers[at] = nil
				continue
			}
			t.askers[at] = a
		}
	}
}

// Asker returns the container that asks from a source at one of the host's addresses; nil if
// there is none, or more than one.
func (t *Table) Asker(listen, source netip.Addr) *Asker { return t.askers[route{listen, source}] }

// Askers are the containers that may ask.
func (t *Table) Askers() map[string]bool {
	all := map[string]bool{}
	for _, a := range t.askers {
		if a != nil {
			all[a.Container] = true
		}
	}
	return all
}

// Listens are the addresses at which containers ask.
func (t *Table) Listens() []netip.Addr { return t.listens }

// Networks is the number of networks.
func (t *Table) Networks() int { return len(t.indexes) }

// Inside reports whether an address belongs to a network that alone has names for it, or is one at
// which containers ask.
func (t *Table) Inside(a netip.Addr) bool {
	return slices.Contains(t.listens, a) || slices.ContainsFunc(t.indexes, func(x *Index) bool { return x.holds(a) })
}

func (x *Index) holds(a netip.Addr) bool {
	return slices.ContainsFunc(x.Subnets, func(p netip.Prefix) bool { return p.Contains(a) })
}
