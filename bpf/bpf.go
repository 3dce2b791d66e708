// Package bpf is the fast path: eBPF programs (src/), their maps, and what is put
// into them. A packet that the programs know for certain goes from the sender's
// veth straight into the receiver's container, or with VXLAN headers onto the wire;
// all else they leave to the host's stack.
//
// Programs stay attached, and maps with them, when the agent is gone; the next one
// takes the maps over. Nothing is pinned: a program belongs to its interface.
package bpf

//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target bpfel -type place -type key4 -type key6 -type peer -type wire -type count fast src/fast.c -- -O2 -mcpu=v3 -Wall -Werror -idirafter /usr/include/x86_64-linux-gnu

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
)

// Fast is the programs with their maps. Its methods may be called at the same time.
type Fast struct {
	objects fastObjects

	mu sync.Mutex
	// slots are the indices into counts, by the interface they are of; remotes those
	// into peers, by the peer's address.
	slots   map[uint32]slot
	remotes map[netip.Addr]uint32
	// spare are free slots up to the highest one that ever was taken.
	spare   []uint32
	highest uint32
	cpus    int
	// owned remembers which attached programs have these maps, by id.
	owned map[ebpf.ProgramID]bool
}

// slot is an interface's place among the counters, for as long as an address of it
// is known.
type slot struct{ index, users uint32 }

// Open puts the programs into the kernel, attached to nothing yet. The maps of
// programs that are at work already, known by their ids, go on being used, unless
// they are laid out in another way. A recast, which may be nil, changes the programs
// and maps before: tests make other versions so.
func Open(atWork []ebpf.ProgramID, recast func(*ebpf.CollectionSpec)) (*Fast, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise the limit on locked memory: %w", err)
	}
	spec, err := loadFast()
	if err != nil {
		return nil, err
	}
	if recast != nil {
		recast(spec)
	}
	maps := mapsOf(atWork, spec)
	defer closeAll(maps)
	f := &Fast{slots: map[uint32]slot{}, remotes: map[netip.Addr]uint32{}, owned: map[ebpf.ProgramID]bool{}}
	if err = spec.LoadAndAssign(&f.objects, &ebpf.CollectionOptions{MapReplacements: maps}); err != nil {
		return nil, fmt.Errorf("load the programs of the fast path: %w", err)
	}
	if f.cpus, err = ebpf.PossibleCPU(); err == nil {
		err = f.readAtWork(maps)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read the maps of the fast path: %w", err)
	}
	return f, nil
}

// Trial is a recast for programs that are tried and taken away again: maps with little room, which
// the kernel makes in no time.
func Trial(spec *ebpf.CollectionSpec) {
	for _, m := range spec.Maps {
		m.MaxEntries = min(m.MaxEntries, trialEntries)
	}
}

const trialEntries = 64

// readAtWork reads what is in the maps that were taken over. New ones are empty: to read each of their entries would take
// longer than to make them.
func (f *Fast) readAtWork(maps map[string]*ebpf.Map) error {
	if len(maps) == 0 {
		return nil
	}
	return errors.Join(f.readRemotes(), f.readSlots())
}

// Close lets go of the maps and programs; what is attached stays at work.
func (f *Fast) Close() error { return f.objects.Close() }

// Port is the program for the host ends of endpoints' veths, Wire the one for the
// underlay's interface; both are for ingress.
func (f *Fast) Port() *ebpf.Program { return f.objects.FromPort }
func (f *Fast) Wire() *ebpf.Program { return f.objects.FromWire }

// Is reports whether an attached program is as good as mine: the same instructions,
// on the same maps.
func (f *Fast) Is(id ebpf.ProgramID, mine *ebpf.Program) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	same, known := f.owned[id]
	if !known {
		same = equal(id, mine)
		f.owned[id] = same
	}
	return same
}

func equal(id ebpf.ProgramID, mine *ebpf.Program) bool {
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return false
	}
	defer p.Close()
	a, errA := p.Info()
	b, errB := mine.Info()
	if errA != nil || errB != nil || a.Tag != b.Tag {
		return false
	}
	x, _ := a.MapIDs()
	y, _ := b.MapIDs()
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
