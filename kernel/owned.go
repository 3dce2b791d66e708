package kernel

import (
	"maps"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// Owned is what a namespace has that bears our mark: interfaces by alias (or
// name and group), routes and rules by protocol, nftables objects by the name
// of their table; and the way for the loopback's addresses on our interfaces. Addresses, neighbours and forwarding entries bear none; they
// live and go with our interfaces and are left out.
type Owned struct {
	State heddle.State `json:"state"`
}

// Keys lists the objects' keys.
func (o Owned) Keys() []string {
	var keys []string
	for _, x := range o.State.Objects() {
		keys = append(keys, x.Key())
	}
	return keys
}

// Ours lists everything in this namespace that bears our mark.
func (k *Kernel) Ours() (Owned, error) {
	var o Owned
	names, err := k.ownLinks(&o.State)
	if err == nil {
		err = k.ownLoopbackWays(&o.State)
	}
	if err == nil {
		err = k.ownRoutes(&o.State, names)
	}
	if err == nil {
		o.State.Rules, err = k.listing().rules()
	}
	for _, family := range []string{"inet", "bridge"} {
		if err == nil {
			err = k.ownTable(&o.State, family)
		}
	}
	if err == nil {
		err = k.ownRedirects(&o.State)
	}
	if err == nil {
		err = k.ownShortcuts(&o.State)
	}
	return o, refused("list", "our objects", err)
}

// ownLinks also returns the names of all interfaces by index.
func (k *Kernel) ownLinks(s *heddle.State) (map[int]string, error) {
	live, err := k.listing().links()
	names := map[int]string{}
	for _, l := range live {
		names[l.index] = l.name
		if l.ours() {
			s.Links = append(s.Links, heddle.Link{Name: l.name, Kind: l.kind, MTU: l.mtu, MAC: l.mac, Group: l.group, Alias: l.alias})
		}
	}
	return names, err
}

func (k *Kernel) ownRoutes(s *heddle.State, names map[int]string) error {
	live, err := k.listing().routes()
	for _, r := range live {
		r.Link = names[r.index]
		s.Routes = append(s.Routes, plain(r.Route))
	}
	return err
}

// ownTable lists a table, its chains, sets and counters, and the members of
// the sets whose type is known.
func (k *Kernel) ownTable(s *heddle.State, family string) error {
	t, err := k.listNft.table(family)
	if err != nil || !t.exists {
		return err
	}
	add := func(kind, name string) {
		s.Firewall = append(s.Firewall, heddle.Firewall{Family: family, Kind: kind, Name: name})
	}
	add("table", "")
	for _, name := range slices.Sorted(maps.Keys(t.counters)) {
		add("counter", name)
	}
	for _, name := range slices.Sorted(maps.Keys(t.sets)) {
		set := t.sets[name]
		switch {
		case set.anon:
			continue
		case set.isMap:
			add("map", name)
		default:
			add("set", name)
		}
		if _, known := firewall.TypeOf(family, name); !known {
			continue
		}
		members, err := k.listNft.elements(family, name)
		if err != nil {
			return err
		}
		s.Elements = append(s.Elements, members...)
	}
	for _, name := range slices.Sorted(maps.Keys(t.chains)) {
		add("chain", name)
	}
	return nil
}

// Prune removes what bears our mark and for which wanted does not report true;
// it is asked by key. The keys of what it found are returned, also if not all
// of it could be removed.
func (k *Kernel) Prune(wanted func(key string) bool) (removed []string, err error) {
	o, err := k.Ours()
	if err != nil {
		return nil, err
	}
	left := o.State.Filter(func(x heddle.Object) bool { return !wanted(x.Key()) })
	if left.Empty() {
		return nil, nil
	}
	return Owned{left}.Keys(), k.Remove(heddle.Plan{Host: left}, nil, wanted)
}
