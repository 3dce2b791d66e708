package names_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-network/heddle/names"
)

// TestAgainstModel compares the table with one that looks at everything for each question.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(rapid.Custom(drawNetwork), 0, 4, func(n names.Network) string { return n.ID }).Draw(t, "networks")
		tb := table(all...)
		for range 40 {
			listen, source := drawPlace(t, all)
			container, ok := modelAsker(all, listen, source)
			a := tb.Asker(listen, source)
			if (a != nil) != ok || ok && a.Container != container {
				t.Fatalf("%v asks at %v: %+v, want %q", source, listen, a, container)
			}
			if a == nil {
				continue
			}
			compare(t, on(all, container), a)
		}
	})
}

func compare(t *rapid.T, all []names.Network, a *names.Asker) {
	name := strings.Join(rapid.SliceOfN(word, 1, 4).Draw(t, "question"), ".")
	if owners := slices.DeleteFunc(slices.Clone(all), func(n names.Network) bool { return len(n.Endpoints) == 0 }); len(owners) > 0 && rapid.Bool().Draw(t, "known") {
		n := rapid.SampledFrom(owners).Draw(t, "of")
		name = rapid.SampledFrom(n.Endpoints).Draw(t, "one").Name
		if rapid.Bool().Draw(t, "qualified") {
			name += "." + n.Name
		}
	}
	if rapid.Bool().Draw(t, "full") {
		name += "." + names.Domain
	}
	want, known := modelLookup(all, strings.ToLower(name))
	got, found := a.Lookup(name)
	slices.SortFunc(got, netip.Addr.Compare)
	if found != known || !slices.Equal(got, want) {
		t.Fatalf("%q: %v, %v, want %v, %v", name, got, found, want, known)
	}
	if internal := !slices.ContainsFunc(all, func(n names.Network) bool { return !n.Internal }); a.Internal != internal {
		t.Fatalf("internal: %v, want %v", a.Internal, internal)
	}
}

// drawPlace draws an address that is asked, and a source: mostly ones that there are.
func drawPlace(t *rapid.T, all []names.Network) (listen, source netip.Addr) {
	listens, sources := []netip.Addr{drawAddr(t)}, []netip.Addr{drawAddr(t)}
	for _, n := range all {
		listens = append(listens, n.Listen...)
		for _, e := range n.Endpoints {
			sources = append(sources, e.Addrs...)
		}
	}
	return rapid.SampledFrom(listens).Draw(t, "listen"), rapid.SampledFrom(sources).Draw(t, "source")
}

var word = rapid.SampledFrom([]string{"a", "b", "A", "b"})

func drawAddr(t *rapid.T) netip.Addr {
	text := rapid.SampledFrom([]string{"10.0.0.%d", "fd00::%d"}).Draw(t, "family")
	return netip.MustParseAddr(fmt.Sprintf(text, rapid.IntRange(1, 4).Draw(t, "address")))
}

func drawNetwork(t *rapid.T) names.Network {
	n := names.Network{ID: rapid.StringMatching("[0-9]").Draw(t, "id"), Internal: rapid.Bool().Draw(t, "internal")}
	n.Name = strings.Join(rapid.SliceOfN(word, 1, 2).Draw(t, "network"), ".")
	n.Listen = rapid.SliceOfNDistinct(rapid.Custom(drawAddr), 0, 2, netip.Addr.Is4).Draw(t, "listen")
	for range rapid.IntRange(0, 5).Draw(t, "endpoints") {
		e := endpoint(rapid.SampledFrom([]string{"", "", "host2"}).Draw(t, "host"), rapid.StringMatching("c[1-3]").Draw(t, "container"), "", nil)
		for i, name := range rapid.SliceOfN(rapid.SliceOfN(word, 1, 2), 0, 3).Draw(t, "names") {
			if full := strings.Join(name, "."); i == 0 {
				e.Name = full
			} else {
				e.Aliases = append(e.Aliases, full)
			}
		}
		e.Addrs = rapid.SliceOfNDistinct(rapid.Custom(drawAddr), 0, 2, netip.Addr.Is4).Draw(t, "addrs")
		n.Endpoints = append(n.Endpoints, e)
	}
	return n
}

func modelAsker(all []names.Network, listen, source netip.Addr) (container string, ok bool) {
	who := map[string]bool{}
	for _, n := range all {
		for _, e := range n.Endpoints {
			if e.Host == "" && slices.Contains(n.Listen, listen) && slices.Contains(e.Addrs, source) && listen.Is4() == source.Is4() {
				who[e.ID.Container] = true
				container = e.ID.Container
			}
		}
	}
	return container, len(who) == 1
}

// on are the networks that a container is on.
func on(all []names.Network, container string) (some []names.Network) {
	for _, n := range all {
		if slices.ContainsFunc(n.Endpoints, func(e names.Endpoint) bool { return e.Host == "" && e.ID.Container == container }) {
			some = append(some, n)
		}
	}
	return some
}

// modelLookup writes down all names that there are, with what they say, and looks at each.
func modelLookup(all []names.Network, name string) (addrs []netip.Addr, found bool) {
	best := -1 // the length of the network's name in the best fit so far
	found = name == names.Domain
	for _, n := range all {
		network := strings.ToLower(n.Name)
		found = found || name == network+"."+names.Domain
		for _, e := range n.Endpoints {
			for _, own := range append([]string{e.Name}, e.Aliases...) {
				own = strings.ToLower(own)
				fit := -1
				switch name {
				case own + "." + network, own + "." + network + "." + names.Domain:
					fit = len(network)
				case own:
					fit = 0
				}
				if own == "" || fit < best || fit < 0 {
					continue
				}
				if fit > best {
					addrs, best = nil, fit
				}
				addrs = append(addrs, e.Addrs...)
				found = true
			}
		}
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return slices.Compact(addrs), found
}
