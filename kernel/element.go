package kernel

import (
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// elementKind are the members of our sets and maps.
type elementKind struct{}

func (elementKind) make(a *attempt, _ *session, want *heddle.State) error {
	return a.elements(want.Elements)
}

func (elementKind) compare(d *differ, want *heddle.State) error {
	live := map[string]map[string]heddle.Element{}
	for _, e := range want.Elements {
		set := e.Family + "/" + e.Set
		if live[set] == nil {
			all, err := d.s.nft.elements(e.Family, e.Set)
			if err != nil {
				return err
			}
			live[set] = map[string]heddle.Element{}
			for _, x := range all {
				live[set][x.Key()] = x
			}
		}
		m, err := newMember(e)
		if err != nil {
			return err
		}
		canonical := m.canonical()
		have, there := live[set][canonical.Key()]
		switch {
		case !there:
			d.missing(e)
		case !heddle.Same(have, canonical):
			d.differs(e, "want %s, have %s", strings.Join(canonical.Value, " . "), strings.Join(have.Value, " . "))
		}
	}
	return nil
}

// remove removes the elements in batches, each in one transaction.
func (elementKind) remove(r *removal, s *session, gone *heddle.State) {
	wanted := func(e heddle.Element) bool { return r.keep(e.Key()) }
	for some := range slices.Chunk(slices.DeleteFunc(once(gone.Elements), wanted), batchSize) {
		if r.tripped {
			return
		}
		r.do(batchKey(some), func() error {
			r.k.frame.Lock()
			defer r.k.frame.Unlock()
			return s.nft.deleteElements(slices.DeleteFunc(some, wanted)) // wanted is asked again, as for the firewall
		})
	}
}

// own lists the members of the sets whose type is known.
func (elementKind) own(v *inventory) error {
	for _, family := range ourFamilies {
		t, err := v.table(family)
		if err != nil {
			return err
		}
		for _, name := range t.setNames() {
			if _, known := firewall.TypeOf(family, name); !known {
				continue
			}
			members, err := v.s.nft.elements(family, name)
			if err != nil {
				return err
			}
			v.found.Elements = append(v.found.Elements, members...)
		}
	}
	return nil
}
