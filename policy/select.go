package policy

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Empty reports whether the selector says nothing.
func (s Selector) Empty() bool { return len(s.Networks)+len(s.Labels)+len(s.Names) == 0 }

// Selects reports whether an endpoint is meant. An empty selector means none.
func (s Selector) Selects(m Member) bool {
	if s.Empty() || len(s.Networks) > 0 && !slices.Contains(s.Networks, m.Network) || len(s.Names) > 0 && !slices.Contains(s.Names, m.Name) {
		return false
	}
	for key, value := range s.Labels {
		if has, there := m.Labels[key]; !there || has != value {
			return false
		}
	}
	return true
}

// shared are the addresses that endpoints of the group share with others, each once.
func (s Selector) shared(members []Member) (all []netip.Addr) {
	for _, m := range members {
		if len(m.Shared) > 0 && s.Selects(m) {
			all = append(all, m.Shared...)
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// key is the selector as one text, the same for every way to write it.
func (s Selector) key() string {
	var words []string
	for _, n := range sorted(s.Networks) {
		words = append(words, "network="+n)
	}
	for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
		words = append(words, "label="+k+"="+s.Labels[k])
	}
	for _, n := range sorted(s.Names) {
		words = append(words, "name="+n)
	}
	return strings.Join(words, "\x00")
}

// String is the selector in words.
func (s Selector) String() string { return strings.ReplaceAll(s.key(), "\x00", ", ") }

func sorted(words []string) []string { return slices.Compact(slices.Sorted(slices.Values(words))) }

// Closes reports whether the policy closes the endpoints that it selects in a direction.
func (p Policy) Closes(d Direction) bool {
	if len(p.Directions) > 0 {
		return slices.Contains(p.Directions, d)
	}
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Direction == d })
}

// Selecting are the names of the policies that select an endpoint, sorted.
func (all Policies) Selecting(m Member) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].Endpoints.Selects(m) {
			names = append(names, name)
		}
	}
	return names
}

// Guards reports whether a policy selects the endpoint.
func (all Policies) Guards(m Member) bool {
	for _, p := range all {
		if p.Endpoints.Selects(m) {
			return true
		}
	}
	return false
}
