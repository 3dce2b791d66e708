package bpf

import (
	"fmt"
	"maps"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// Maps bear the layout of what is in them along (BTF), which is their version: those
// of another layout stay with the programs of their time, and the new programs get
// maps of their own, which plans fill before an interface changes over.

// mapsOf opens the maps of programs, by name. Programs with a map that is laid out
// in another way than the spec's, or is another than one that was found before, are
// left out.
func mapsOf(programs []ebpf.ProgramID, spec *ebpf.CollectionSpec) map[string]*ebpf.Map {
	all := map[string]*ebpf.Map{}
	for _, id := range programs {
		its := map[string]*ebpf.Map{}
		fit := true
		for _, id := range mapIDs(id) {
			m, err := ebpf.NewMapFromID(id)
			if err != nil {
				fit = false
				continue
			}
			info, err := m.Info()
			if err != nil || its[info.Name] != nil {
				m.Close()
				fit = false
				continue
			}
			its[info.Name] = m
			fit = fit && fits(m, info, spec.Maps[info.Name]) && same(all[info.Name], id)
		}
		if !fit {
			closeAll(its)
			continue
		}
		for name, m := range its {
			if all[name] != nil {
				m.Close()
				delete(its, name)
			}
		}
		maps.Copy(all, its)
	}
	return all
}

// mapIDs are those of a program, none if it is gone.
func mapIDs(id ebpf.ProgramID) []ebpf.MapID {
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return nil
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		return nil
	}
	ids, _ := info.MapIDs()
	return ids
}

func closeAll(maps map[string]*ebpf.Map) {
	for _, m := range maps {
		m.Close()
	}
}

// same reports whether a map, if there is one, has an id.
func same(m *ebpf.Map, id ebpf.MapID) bool {
	if m == nil {
		return true
	}
	info, err := m.Info()
	if err != nil {
		return false
	}
	has, _ := info.ID()
	return has == id
}

// fits reports whether a map is of the spec's kind and layout.
func fits(m *ebpf.Map, info *ebpf.MapInfo, spec *ebpf.MapSpec) bool {
	if spec == nil || spec.Compatible(m) != nil {
		return false
	}
	id, known := info.BTFID()
	if !known {
		return false
	}
	handle, err := btf.NewHandleFromID(id)
	if err != nil {
		return false
	}
	defer handle.Close()
	types, err := handle.Spec(nil)
	if err != nil {
		return false
	}
	for _, want := range []btf.Type{spec.Key, spec.Value} {
		if s, ok := want.(*btf.Struct); ok {
			var have *btf.Struct
			if types.TypeByName(s.Name, &have) != nil || layout(have) != layout(s) {
				return false
			}
		}
	}
	return true
}

// layout lists a struct's members.
func layout(s *btf.Struct) string {
	var all strings.Builder
	for _, m := range s.Members {
		size, _ := btf.Sizeof(m.Type)
		fmt.Fprintf(&all, "%s %d %d\n", m.Name, m.Offset, size)
	}
	return all.String()
}
