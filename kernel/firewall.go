package kernel

import (
	"maps"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// firewallKind is the static part of the firewall: tables, sets, maps, counters, chains.
type firewallKind struct{}

func (firewallKind) make(a *attempt, _ *session, want *heddle.State) error {
	return a.firewall(want.Firewall)
}

// firewallKey names the static part of the firewall in steps and errors.
const firewallKey = "firewall"

// firewall makes the static part of the firewall in one nft transaction. The undo removes what was
// missing; a chain of ours that somebody had changed stays repaired.
func (a *attempt) firewall(objects []heddle.Firewall) error {
	if len(objects) == 0 {
		return nil
	}
	return a.step("make", firewallKey, func() error {
		a.k.frame.Lock()
		defer a.k.frame.Unlock()
		live, err := a.host.tables(objects)
		if err != nil {
			return err
		}
		drifts := compareFirewall(live, objects)
		if len(drifts) == 0 {
			return nil
		}
		if err := a.host.runNft(repairScript(drifts, objects)); err != nil {
			return nftErrno(err)
		}
		nothing := func() error { return nil }
		var missing []heddle.Firewall
		for _, d := range drifts {
			if d.kind == "missing" {
				missing = append(missing, d.want)
			}
			a.recordUndo(d.want.Key(), nothing)
		}
		a.recordUndo(drifts[0].want.Key(), func() error {
			a.k.frame.Lock()
			defer a.k.frame.Unlock()
			return a.host.removeFirewall(slices.DeleteFunc(missing, func(f heddle.Firewall) bool { return a.k.shared(f.Key()) }))
		})
		return nil
	})
}

func (firewallKind) compare(d *differ, want *heddle.State) error {
	live, err := d.s.tables(want.Firewall)
	if err != nil {
		return err
	}
	for _, x := range compareFirewall(live, want.Firewall) {
		d.found = append(d.found, Difference{Key: x.want.Key(), Kind: x.kind, Detail: x.detail})
	}
	return nil
}

func (firewallKind) remove(r *removal, s *session, gone *heddle.State) {
	unwanted := func() (some []heddle.Firewall) {
		for _, f := range gone.Firewall {
			if !r.keep(f.Key()) {
				some = append(some, f)
			}
		}
		return some
	}
	if len(unwanted()) == 0 || r.tripped {
		return
	}
	r.do("firewall", func() error {
		r.k.frame.Lock()
		defer r.k.frame.Unlock()
		return s.removeFirewall(unwanted()) // wanted is asked again: a plan says that it wants an object before it makes the object
	})
}

// removeFirewall removes those of the objects that exist, in one nft transaction. What is in a
// table is removed with it.
func (s *session) removeFirewall(objects []heddle.Firewall) error {
	if len(objects) == 0 {
		return nil
	}
	live, err := s.tables(objects)
	if err != nil {
		return err
	}
	isTable := func(family string) bool {
		return slices.ContainsFunc(objects, func(f heddle.Firewall) bool { return f.Family == family && f.Kind == "table" })
	}
	var there []heddle.Firewall
	for _, f := range objects {
		if f.Kind != "table" && isTable(f.Family) || live[f.Family].compare(f).kind == "missing" {
			continue
		}
		there = append(there, f)
	}
	return s.runNft(firewall.Removal(there))
}

// own lists our tables with their chains, sets and counters.
func (firewallKind) own(v *inventory) error {
	for _, family := range ourFamilies {
		t, err := v.table(family)
		if err != nil || !t.exists {
			if err != nil {
				return err
			}
			continue
		}
		add := func(kind, name string) {
			v.found.Firewall = append(v.found.Firewall, heddle.Firewall{Family: family, Kind: kind, Name: name})
		}
		add("table", "")
		for _, name := range slices.Sorted(maps.Keys(t.counters)) {
			add("counter", name)
		}
		for _, name := range t.setNames() {
			if t.sets[name].isMap {
				add("map", name)
			} else {
				add("set", name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(t.chains)) {
			add("chain", name)
		}
	}
	return nil
}
