package agent

import (
	"slices"

	"github.com/heddle-network/heddle"
)

// linkLocks has a lock for each link that several plans want, by name. The lock is held while the
// link is made or removed.
type linkLocks struct{ byName keyed[atLinks, string] }

// lockShared locks the links that the endpoint shares with others, while they may be made or
// removed. Most plans have none and wait for nobody: both ends of the endpoint's own link belong
// to it alone.
func (x *linkLocks) lockShared(r record) func() {
	others := func(link string) bool { return link != r.Endpoint.ID.PortName() && link != r.handoverName() }
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

// lockParentDevices is lockShared for a network: networks on one parent share a device there.
func (x *linkLocks) lockParentDevices(s heddle.State) func() {
	var names []string
	for _, l := range s.Links {
		if l.Parent != "" {
			names = append(names, l.Name)
		}
	}
	return x.lock(names)
}

// lock locks links in the order of their names, so that two callers that want several links cannot
// deadlock.
func (x *linkLocks) lock(names []string) func() {
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
