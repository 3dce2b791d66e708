package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// linkKind are the interfaces. They are made down, and are brought up when their guards are there.
type linkKind struct{}

func (linkKind) make(a *attempt, s *session, want *heddle.State) error {
	return each(want.Links, func(l heddle.Link) error { return a.link(s, l) })
}

func (linkKind) compare(d *differ, want *heddle.State) error { return each(want.Links, d.link) }

func (d *differ) link(l heddle.Link) error {
	have, err := d.find(l.Name)
	if err != nil {
		return err
	}
	if have == nil {
		return d.missing(l)
	}
	var odd []string
	if l.Kind != "" {
		odd = d.settings(l, *have)
	}
	if !have.up && !l.Down {
		odd = append(odd, "want up, have down")
	}
	if len(odd) == 0 {
		return nil
	}
	return d.differs(l, "%s", strings.Join(odd, "; "))
}

// settings names the settings that are not as wanted, with the names of interfaces instead of their
// indexes.
func (d *differ) settings(l heddle.Link, have linkState) []string {
	want, err := d.s.wanted(l, have)
	if err != nil {
		return []string{"want " + err.Error()}
	}
	var odd []string
	if have.kind == "vxlan" && l.Kind == "vxlan" {
		if have.tunnel.soft, err = d.s.softChecksums(l.Name); err != nil {
			return []string{err.Error()}
		}
	}
	note := func(what string, want, have any) {
		if want != have {
			odd = append(odd, fmt.Sprintf("want %s %v, have %v", what, want, have))
		}
	}
	note("kind", l.Kind, have.kind)
	note("mtu", want.mtu, have.mtu)
	note("largest segment", want.gso, have.gso)
	note("mac", want.mac, have.mac)
	note("group", fmt.Sprintf("%#x", want.group), fmt.Sprintf("%#x", have.group))
	note("alias", want.alias, have.alias)
	note("master", l.Master, d.nameOf(have.master))
	note("no automatic address", want.noAuto, have.noAuto)
	note("multicast snooping", want.snooping, have.snooping)
	note("sub-mode", want.submode, have.submode)
	if have.kind == "vxlan" && l.Kind == "vxlan" {
		haveFacts := have.tunnel.facts()
		for i, fact := range want.tunnel.facts() {
			note("tunnel", fact, haveFacts[i])
		}
	}
	if l.Parent != "" && !d.s.pod {
		note("parent", l.Parent, d.nameOf(have.peer))
	}
	if l.Port != nil && have.port != nil {
		note("port", fmt.Sprintf("%+v", *l.Port), fmt.Sprintf("%+v", *have.port))
	}
	return odd
}

func (linkKind) remove(r *removal, s *session, gone *heddle.State) {
	for _, l := range slices.Backward(gone.Links) {
		if s == nil || r.tripped || l.Kind == "" || r.keep(l.Key()) || r.far[s.side()+l.Name] {
			continue
		}
		r.do(l.Key(), func() error {
			live, err := s.link(l.Name)
			if err == nil && live == nil && s.pod && l.Parent != "" {
				live, err = s.link(heddle.BirthName(l)) // a crash came before the link got its name
			}
			if err != nil || live == nil || !live.ours() || l.Alias != "" && live.alias != "" && !heddle.SameOwner(live.alias, l.Alias) {
				return err
			}
			return s.delete(live.index)
		})
	}
}

func (linkKind) own(v *inventory) error {
	live, err := v.s.listedLinks()
	for _, l := range live {
		if l.ours() {
			v.found.Links = append(v.found.Links, heddle.Link{Name: l.name, Kind: l.kind, MTU: l.mtu, MAC: l.mac, Group: l.group, Alias: l.alias})
		}
	}
	return err
}
