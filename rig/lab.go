package rig

import (
	"slices"

	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/lab"
)

// storeHost is the host of the store if the other hosts are virtual machines.
const storeHost = "store"

// topology of a lab: two hosts with agents, which have a store if a mode spans hosts, and
// two plain hosts if a mode has no agent.
func (r *Rig) topology(number int, wire bench.Wire) lab.Topology {
	t := lab.Topology{Name: r.Name, Bound: true, Machine: r.Machines, MTU: wire.MTU, Rate: impair.Rate(wire.Rate), Cut: segmentationOff(wire), Merge: wire.Name == wireMerged, Sysctls: r.sysctls(), Progress: func(string) {}}
	if number > 0 {
		t.Name += "-" + wireLabel(wire)
	}
	if slices.Contains(r.Modes, bench.Overlay) || slices.Contains(r.Modes, bench.Overlay+bench.Stack) {
		t.Store = lab.StoreEmbedded
	}
	if t.Store != "" && r.Machines != "" {
		// A store's servers must answer in time, which they cannot on an emulated
		// processor. So they do not run in the machines.
		t.Store, t.Etcd = lab.StoreEtcd, []string{storeHost}
	}
	spare := 0
	if slices.Contains(r.Modes, modeDirect) {
		spare = 2 * r.containers()
	}
	if r.macvlanOwnParent() {
		spare++
	}
	t.Hosts = []lab.Node{{Name: "host1", Spare: spare}, {Name: "host2", Spare: spare}}
	if slices.ContainsFunc(r.Modes, withoutAgent) {
		for host := range 2 {
			t.Hosts = append(t.Hosts, lab.Node{Name: dockerHost(host), Agent: lab.Agent{Off: true}})
		}
	}
	if len(t.Etcd) > 0 { // the last one: the others are found by their index
		t.Hosts = append(t.Hosts, lab.Node{Name: storeHost, Machine: lab.Namespaces, Agent: lab.Agent{Off: true}})
	}
	return t
}

// macvlanOwnParent is true where macvlan needs a parent of its own: an interface carries
// either macvlan or ipvlan devices.
func (r *Rig) macvlanOwnParent() bool {
	return slices.Contains(r.Modes, modeMacvlan) && slices.Contains(r.Modes, modeIPvlan)
}

// Machine says what is special about figures of virtual machines, "" of others, and
// whether their processor is emulated.
func (r *Rig) Machine() (words string, emulated bool) {
	s := r.labs[0]
	return s.machineNote(), s.lab.Hosts[0].Emulated()
}

// machineNote say what is special about figures of virtual machines.
func (s *testLab) machineNote() string {
	h := s.lab.Hosts[0]
	switch {
	case h.Machine == "":
		return ""
	case h.Emulated():
		return "virtual machines with Linux " + h.Machine + " on an emulated processor: that it works is proven here, its speed is not"
	}
	return "virtual machines with Linux " + h.Machine + " (" + h.Accelerator + ")"
}

// segmentationOff reports whether each frame crosses the wire by itself.
func segmentationOff(w bench.Wire) bool {
	return w.Name == wireCut || w.Name == wireMerged || w.Name == wireJumbo
}

func (r *Rig) hasSpan(span string) bool { return slices.Contains(r.Spans, span) }
