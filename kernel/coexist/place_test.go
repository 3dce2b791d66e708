package coexist

import (
	"slices"
	"testing"
)

func TestPlaces(t *testing.T) {
	drop, log := step{does: drops}, step{does: tells}
	explicit := step{does: decides}
	reset := step{does: drops, under: byProtocol}
	to := func(chain string, under condition) step { return step{does: leads, target: chain, under: under} }
	type book = map[string][]step
	for name, c := range map[string]struct {
		policy bool
		chains book
		want   []place
		shared []string
	}{
		"nothing drops":                  {false, book{"f": {explicit, log}}, nil, nil},
		"policy":                         {true, book{"f": {explicit, log}}, []place{{"f", 2}}, nil},
		"a drop at the end":              {false, book{"f": {explicit, drop}}, []place{{"f", 1}}, nil},
		"logged, and reset":              {true, book{"f": {explicit, log, reset, drop, explicit}}, []place{{"f", 1}}, nil},
		"explicit drops alone":           {false, book{"f": {explicit, to("x", closely)}, "x": {drop}}, nil, nil},
		"a drop under another name":      {true, book{"f": {explicit, to("x", always)}, "x": {log, drop}}, []place{{"f", 1}}, nil},
		"the same for an interface":      {false, book{"f": {to("x", byInterface)}, "x": {log, drop}}, nil, nil},
		"a chain that ends":              {true, book{"f": {to("x", always)}, "x": {explicit, drop}}, []place{{"x", 1}, {"f", 1}}, nil},
		"zones":                          {false, book{"f": {to("z", always), drop}, "z": {to("p", byInterface), to("p", always)}, "p": {explicit, drop}}, []place{{"p", 1}, {"f", 1}}, nil},
		"a chain that others lead to":    {false, book{"f": {to("x", closely), to("x", always)}, "x": {explicit, drop}}, nil, []string{"x"}},
		"a loop, which no kernel admits": {false, book{"f": {to("f", always), drop}}, []place{{"f", 1}}, nil},
		"an unknown chain":               {true, book{"f": {to("x", always)}}, []place{{"f", 1}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, shared := places("f", c.policy, c.chains)
			if !slices.Equal(found, c.want) || !slices.Equal(shared, c.shared) {
				t.Errorf("places %v, shared %v", found, shared)
			}
		})
	}
}
