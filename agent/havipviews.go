package agent

import (
	"maps"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
)

// HAVIPs lists the addresses of this host that one of several endpoints holds, by name.
func (a *Agent) HAVIPs() []havip.Shown {
	all, holders := a.havips.now()
	members := a.havips.members()
	shown := make([]havip.Shown, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		shown = append(shown, a.havips.shown(all[name], holders, members))
	}
	return shown
}

// HAVIP returns one.
func (a *Agent) HAVIP(name string) (havip.Shown, error) {
	all, holders := a.havips.now()
	h, known := all[name]
	if !known {
		return havip.Shown{}, noHAVIP(name)
	}
	return a.havips.shown(h, holders, a.havips.members()), nil
}

func noHAVIP(name string) error {
	return heddle.Errorf(heddle.NoHAVIP, "find HAVIP", heddle.Clip(name), "", "'heddle havip list' shows those there are")
}

func (v *havips) shown(h havip.HAVIP, holders havip.Holders, members []havip.Member) havip.Shown {
	s := havip.Shown{HAVIP: h, Endpoints: []heddle.EndpointID{}}
	if n := v.networks.byID(h.Network); n != nil {
		s.NetworkName = n.Name
	}
	for _, m := range h.Of(members) {
		s.Endpoints = append(s.Endpoints, m.ID)
	}
	slices.SortFunc(s.Endpoints, heddle.EndpointID.Compare)
	if id, held := holders[h.Name]; held {
		s.Holder = &id
	}
	return s
}

// on are the addresses of a network.
func (v *havips) on(network string) []havip.HAVIP {
	all, _ := v.now()
	return all.On(network)
}
