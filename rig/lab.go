package rig

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
	if slices.Contains(r.Modes, modeDirect) && !r.plugs(modeDirect) {
		spare = r.ownNICs()
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
	for i := range t.Hosts { // the machines: the host of the store comes after them
		t.Hosts[i].ICount = r.ICount
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
// whether their processor is emulated. Runs of other words are not compared, nor mixed.
func (r *Rig) Machine() (words string, emulated bool) {
	s := r.labs[0]
	words = s.machineNote()
	if len(r.Plug) > 0 {
		words += ". The NICs of " + strings.Join(r.Plug, ", ") + " were plugged in while they ran"
	}
	return words, s.lab.Hosts[0].Emulated()
}

// hosts are those that a column of the mode is in: the first one, and for pairs across two the second one.
func (s *testLab) hosts(mode, span string) []*lab.Host {
	all := s.lab.Hosts
	if mode == bench.Native {
		all = s.plainHosts
	}
	if span == bench.SameHost {
		return all[:1]
	}
	return all[:2]
}

// processors reads what the kernels of virtual machines account. It is nil for hosts of namespaces.
func processors(all []*lab.Host) bench.Processors {
	if all[0].Machine == "" {
		return nil
	}
	return func(ctx context.Context) ([]string, error) {
		texts := make([]string, len(all))
		for i, h := range all {
			var err error
			if texts[i], err = h.Processor(ctx); err != nil {
				return nil, err
			}
		}
		return texts, nil
	}
}

// InstructionTime is what an instruction takes of the machines' clocks; 0 if these do not count instructions.
func (r *Rig) InstructionTime() time.Duration {
	if !r.ICount {
		return 0
	}
	return lab.InstructionTime
}

// machineNote says what is special about figures of virtual machines.
func (s *testLab) machineNote() string {
	h := s.lab.Hosts[0]
	switch {
	case h.Machine == "":
		return ""
	case h.Emulated():
		words := "virtual machines with Linux " + h.Machine + " on an emulated processor: that it works is proven here, its speed is not"
		if s.lab.Topology.Hosts[0].ICount {
			words += fmt.Sprintf(". Their clocks count instructions, %s each: instructions and CPU time say what the work is, and not what it takes", lab.InstructionTime)
		}
		return words
	}
	return "virtual machines with Linux " + h.Machine + " (" + h.Accelerator + ")"
}

// segmentationOff reports whether each frame crosses the wire by itself.
func segmentationOff(w bench.Wire) bool {
	return w.Name == wireCut || w.Name == wireMerged || w.Name == wireJumbo
}

func (r *Rig) hasSpan(span string) bool { return slices.Contains(r.Spans, span) }
