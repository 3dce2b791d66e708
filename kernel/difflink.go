package kernel

import (
	"fmt"
	"strings"

	"github.com/heddle-network/heddle"
)

func (d *differ) link(l heddle.Link) error {
	have, there := d.links[l.Name]
	if !there {
		return d.missing(l)
	}
	var odd []string
	if l.Kind != "" {
		odd = d.settings(l, have)
	}
	if !have.up && !l.Down {
		odd = append(odd, "want up, have down")
	}
	if len(odd) == 0 {
		return nil
	}
	return d.differs(l, "%s", strings.Join(odd, "; "))
}

// settings names what is not as wanted, with the interfaces' names in place of
// their indexes.
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

// nameOf is the name of the interface with the index.
func (d *differ) nameOf(index int) string {
	if index == 0 {
		return ""
	}
	for _, l := range d.links {
		if l.index == index {
			return l.name
		}
	}
	return fmt.Sprintf("#%d", index)
}
