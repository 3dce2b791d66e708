package agent

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
	"github.com/heddle-network/heddle/kernel"
)

// How the agent hears which member has an address. What it hears has passed the guard of the sender's port: it is a member's, about an
// address that it may have, from its own MAC address.

// leastRest and mostRest are how long the agent waits after it has heeded announcements on a network; of what came meanwhile the last counts.
// Members that fight change the holder more and more seldom, since each change is written to the disk and the log.
const leastRest, mostRest = 100 * time.Millisecond, 3200 * time.Millisecond

// restAfter is how long the agent waits after it has heeded announcements, if it has waited so long before them.
func restAfter(before time.Duration, changed bool) time.Duration {
	if changed {
		return min(2*before, mostRest)
	}
	return max(before/2, leastRest)
}

// ear hears announcements of a network's addresses.
type ear struct {
	kernel.Announcements
	addrs []netip.Addr
}

// listen hears on the bridges of the networks that have addresses, and no longer on others.
func (v *havips) listen() {
	addrs := map[string][]netip.Addr{}
	for _, h := range v.all {
		if n := v.networks.byID(h.Network); n != nil && !v.stopped {
			addrs[h.Network] = append(addrs[h.Network], h.Address)
		}
	}
	for id, e := range v.ears {
		if slices.SortFunc(addrs[id], netip.Addr.Compare); !slices.Equal(addrs[id], e.addrs) || e.Deaf() {
			e.Close()
			delete(v.ears, id)
		}
	}
	for id, some := range addrs {
		if v.ears[id] != nil {
			continue
		}
		slices.SortFunc(some, netip.Addr.Compare)
		heard, err := v.listener.HearAnnouncements(heddle.Network{ID: id}.BridgeName(0), some)
		if err != nil {
			v.log.Warn("announcements of HAVIPs are not heard; it is tried again", "network", id, "error", err)
			continue
		}
		v.ears[id] = &ear{heard, some}
		v.background.Go(func() { v.hear(id, heard) })
	}
}

// hear heeds announcements until the ear is closed.
func (v *havips) hear(network string, heard kernel.Announcements) {
	for rest := leastRest / 2; ; {
		all, err := heard.Next()
		if err != nil {
			return
		}
		rest = restAfter(rest, v.heed(network, all))
		select {
		case <-v.stop:
			return
		case <-time.After(rest):
		}
	}
}

// heed gives addresses to the members that have announced them last. It reports whether one has another holder than before.
func (v *havips) heed(network string, heard []kernel.Announcement) (changed bool) {
	v.updating.Lock()
	defer v.updating.Unlock()
	addrs := map[netip.Addr]havip.HAVIP{}
	for _, h := range v.all.On(network) {
		addrs[h.Address] = h
	}
	next, members := havip.Holders{}, v.members()
	for _, one := range slices.Backward(heard) {
		h, known := addrs[one.Addr]
		if _, decided := next[h.Name]; !known || decided {
			continue
		}
		if i := slices.IndexFunc(members, func(m havip.Member) bool { return m.MAC == one.MAC && h.Has(m) }); i >= 0 {
			next[h.Name] = members[i].ID
		}
	}
	maps.DeleteFunc(next, func(name string, id heddle.EndpointID) bool { return v.holders[name] == id })
	if len(next) > 0 {
		if err := v.hold(next, members); err != nil {
			v.tell(err)
		}
	}
	return len(next) > 0
}

// close ends the ears.
func (v *havips) close() {
	v.updating.Lock()
	defer v.updating.Unlock()
	if !v.stopped {
		v.stopped = true
		close(v.stop)
	}
	v.listen()
}
