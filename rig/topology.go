package rig

import (
	"slices"

	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/lab"
)

// storeHost has the store of hosts that are virtual machines.
const storeHost = "store"

// topology of a stage: two hosts with agents, which have a store if a mode spans
// hosts, and two bare ones for what is not ours.
func (r *Rig) topology(number int, wire bench.Wire) lab.Topology {
	t := lab.Topology{Name: r.Name, Machine: r.Machines, MTU: wire.MTU, Rate: lab.Rate(wire.Rate), Cut: isCut(wire), Merge: wire.Name == wireMerged, Sysctls: r.sysctls(), Progress: func(string) {}}
	if number > 0 {
		t.Name += "-" + wireLabel(wire)
	}
	if slices.Contains(r.Modes, bench.Overlay) || slices.Contains(r.Modes, bench.Overlay+bench.Stack) {
		t.Store = lab.StoreEmbedded
	}
	if t.Store != "" && r.Machines != "" {
		// A store's servers promise answers in time, which an emulated processor does
		// not give: they are beside the machines.
		t.Store, t.Etcd = lab.StoreEtcd, []string{storeHost}
	}
	spare := 0
	if slices.Contains(r.Modes, modeDirect) {
		spare = 2 * r.containers()
	}
	if r.secondParent() {
		spare++
	}
	t.Hosts = []lab.Node{{Name: "host1", Spare: spare}, {Name: "host2", Spare: spare}}
	if slices.ContainsFunc(r.Modes, agentless) {
		for host := range 2 {
			t.Hosts = append(t.Hosts, lab.Node{Name: dockerHost(host), Agent: lab.Agent{Off: true}})
		}
	}
	if len(t.Etcd) > 0 { // the last one: the others are told by their place
		t.Hosts = append(t.Hosts, lab.Node{Name: storeHost, Machine: lab.Namespaces, Agent: lab.Agent{Off: true}})
	}
	return t
}

// secondParent is true where macvlan needs a parent of its own: an interface carries
// either macvlan or ipvlan devices.
func (r *Rig) secondParent() bool {
	return slices.Contains(r.Modes, modeMacvlan) && slices.Contains(r.Modes, modeIPvlan)
}

// Machine says what is special about figures of virtual machines, "" of others, and
// whether their processor is emulated.
func (r *Rig) Machine() (words string, emulated bool) {
	s := r.stages[0]
	return s.machineWords(), s.lab.Hosts[0].Emulated()
}

// machineWords say what is special about figures of virtual machines.
func (s *stage) machineWords() string {
	h := s.lab.Hosts[0]
	switch {
	case h.Machine == "":
		return ""
	case h.Emulated():
		return "virtual machines with Linux " + h.Machine + " on an emulated processor: that it works is proven here, its speed is not"
	}
	return "virtual machines with Linux " + h.Machine + " (" + h.Accelerator + ")"
}

// isCut tells whether each frame crosses a wire by itself.
func isCut(w bench.Wire) bool {
	return w.Name == wireCut || w.Name == wireMerged || w.Name == wireJumbo
}

func (r *Rig) wants(span string) bool { return slices.Contains(r.Spans, span) }
