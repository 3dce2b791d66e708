package coexist

import (
	"slices"
	"testing"
)

func TestInsertPositions(t *testing.T) {
	drop, log := step{does: drops}, step{does: tells}
	explicit := step{does: decides}
	reset := step{does: drops, under: byProtocol}
	to := func(chain string, under condition) step { return step{does: leads, target: chain, under: under} }
	type chains = map[string][]step
	for name, c := range map[string]struct {
		policy bool
		chains chains
		want   []insertPosition
		shared []string
	}{
		"nothing drops":                  {false, chains{"f": {explicit, log}}, nil, nil},
		"policy":                         {true, chains{"f": {explicit, log}}, []insertPosition{{"f", 2}}, nil},
		"a drop at the end":              {false, chains{"f": {explicit, drop}}, []insertPosition{{"f", 1}}, nil},
		"logged, and reset":              {true, chains{"f": {explicit, log, reset, drop, explicit}}, []insertPosition{{"f", 1}}, nil},
		"explicit drops alone":           {false, chains{"f": {explicit, to("x", closely)}, "x": {drop}}, nil, nil},
		"a drop under another name":      {true, chains{"f": {explicit, to("x", always)}, "x": {log, drop}}, []insertPosition{{"f", 1}}, nil},
		"the same for an interface":      {false, chains{"f": {to("x", byInterface)}, "x": {log, drop}}, nil, nil},
		"a chain that ends":              {true, chains{"f": {to("x", always)}, "x": {explicit, drop}}, []insertPosition{{"x", 1}, {"f", 1}}, nil},
		"zones":                          {false, chains{"f": {to("z", always), drop}, "z": {to("p", byInterface), to("p", always)}, "p": {explicit, drop}}, []insertPosition{{"p", 1}, {"f", 1}}, nil},
		"a chain that others lead to":    {false, chains{"f": {to("x", closely), to("x", always)}, "x": {explicit, drop}}, nil, []string{"x"}},
		"a loop, which no kernel admits": {false, chains{"f": {to("f", always), drop}}, []insertPosition{{"f", 1}}, nil},
		"an unknown chain":               {true, chains{"f": {to("x", always)}}, []insertPosition{{"f", 1}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, shared := insertPositions("f", c.policy, c.chains)
			if !slices.Equal(found, c.want) || !slices.Equal(shared, c.shared) {
				t.Errorf("places %v, shared %v", found, shared)
			}
		})
	}
}
