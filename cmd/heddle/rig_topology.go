package main

import (
	"slices"

	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/lab"
)

// topology of a stage: two hosts with agents, which have a store if a mode spans
// hosts, and two bare ones for what is not ours.
func (r *rig) topology(number int, wire bench.Wire) lab.Topology {
	t := lab.Topology{Name: r.name, MTU: wire.MTU, Rate: lab.Rate(wire.Rate), Cut: isCut(wire), Merge: wire.Name == wireMerged, Sysctls: r.sysctls(), Progress: func(string) {}}
	if number > 0 {
		t.Name += "-" + wireLabel(wire)
	}
	if slices.Contains(r.modes, bench.Overlay) || slices.Contains(r.modes, bench.Overlay+bench.Stack) {
		t.Store = lab.StoreEmbedded
	}
	spare := 0
	if slices.Contains(r.modes, modeDirect) {
		spare = 2 * r.containers()
	}
	t.Hosts = []lab.Node{{Name: "host1", Spare: spare}, {Name: "host2", Spare: spare}}
	if slices.ContainsFunc(r.modes, agentless) {
		for host := range 2 {
			t.Hosts = append(t.Hosts, lab.Node{Name: dockerHost(host), Agent: lab.Agent{Off: true}})
		}
	}
	return t
}

// isCut tells whether each frame crosses a wire by itself.
func isCut(w bench.Wire) bool {
	return w.Name == wireCut || w.Name == wireMerged || w.Name == wireJumbo
}

func (r *rig) wants(span string) bool { return slices.Contains(r.spans, span) }
