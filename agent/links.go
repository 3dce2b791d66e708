package agent

import (
	"slices"

	"github.com/heddle-network/heddle"
)

// links lets one at a time make or remove a link that several plans want, by name.
type links struct{ byName keyed[atLinks, string] }

// sharing locks out others while links that several endpoints want may be made or
// removed. Most plans have none, and wait for nobody: the ends of the endpoint's own
// link are its alone.
func (x *links) sharing(r record) func() {
	others := func(link string) bool { return link != r.Endpoint.ID.PortName() && link != r.handName() }
	var names []string
	for _, l := range r.Plan.Host.Links {
		if others(l.Name) {
			names = append(names, l.Name)
		}
	}
	for _, c := range r.Plan.Host.Sysctls {
		if link, is := c.IsLoopbackWay(); is && others(link) {
			names = append(names, link)
		}
	}
	return x.lock(names)
}

// sharingParent is sharing for a network: those on one parent have a device there in
// common.
func (x *links) sharingParent(s heddle.State) func() {
	var names []string
	for _, l := range s.Links {
		if l.Parent != "" {
			names = append(names, l.Name)
		}
	}
	return x.lock(names)
}

// lock takes the locks of links, by name, so that two who want several wait for
// each other at the first.
func (x *links) lock(names []string) func() {
	slices.Sort(names)
	var unlock []func()
	for _, name := range slices.Compact(names) {
		unlock = append(unlock, x.byName.LockAnother(name))
	}
	return func() {
		for _, u := range unlock {
			u()
		}
	}
}
