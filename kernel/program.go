package kernel

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
)

// programKind are the fast path's programs, on containers' host ends and on the underlay.
type programKind struct{}

func (programKind) make(a *attempt, _ *session, want *heddle.State) error {
	return each(want.Programs, a.program)
}

func (a *attempt) program(p heddle.Program) error {
	return a.step("make", p.Key(), func() error {
		f, index, err := a.fastOn(p.Link)
		if err != nil {
			return err
		}
		if p.Wire != nil {
			return a.wireProgram(f, p, index)
		}
		if !a.fresh["host/"+p.Link] {
			id, err := a.host.attachedProgram(index)
			if err != nil || id != 0 && f.Is(id, f.Port()) {
				return err
			}
		}
		if err := a.host.attachProgram(index, f.Port(), ingressQdisc); err != nil {
			return err
		}
		a.recordCreated(a.host, p.Key(), func() error { return a.host.detachProgram(index) })
		return nil
	})
}

func (a *attempt) wireProgram(f *bpf.Fast, p heddle.Program, index int) error {
	set, err := f.HasWire(*p.Wire)
	if err == nil && !set {
		err = f.SetWire(*p.Wire)
	}
	if err != nil {
		return err
	}
	id, tcx, err := a.host.underlayProgram(index)
	if err != nil || id != 0 && f.Is(id, f.Wire()) {
		return err
	}
	if err := a.host.attachUnderlayProgram(index, f.Wire(), id, tcx); err != nil {
		return err
	}
	a.recordCreated(a.host, p.Key(), func() error { return a.host.detachUnderlayProgram(index) })
	return nil
}

func (programKind) compare(d *differ, want *heddle.State) error {
	return d.fast(func(f *bpf.Fast) error {
		return each(want.Programs, func(p heddle.Program) error { return d.program(f, p) })
	})
}

func (d *differ) program(f *bpf.Fast, p heddle.Program) error {
	index := d.index(p.Link)
	if index == 0 {
		return d.missing(p)
	}
	if p.Wire == nil {
		id, err := d.s.attachedProgram(index)
		return d.note(p, id != 0, f.Is(id, f.Port()), err)
	}
	set, err := f.HasWire(*p.Wire)
	if err != nil {
		return err
	}
	id, _, err := d.s.underlayProgram(index)
	return d.note(p, id != 0, set && f.Is(id, f.Wire()), err)
}

func (programKind) remove(r *removal, s *session, gone *heddle.State) {
	if _, err := r.k.fastPath(); err != nil {
		return
	}
	for _, x := range slices.Backward(gone.Programs) {
		r.step(s, x.Key(), x.Link, func() error {
			index, err := s.ifindex(x.Link)
			if err != nil {
				return err
			}
			if x.Wire != nil {
				return s.detachUnderlayProgram(index)
			}
			return s.detachProgram(index)
		})
	}
}

// own lists the programs on the underlay. The programs on our links are removed with the links.
func (programKind) own(v *inventory) error {
	f, err := v.fast()
	if f == nil {
		return err
	}
	links, err := v.s.listedLinks()
	for _, l := range links {
		if l.ours() {
			continue
		}
		if id, _, err := v.s.underlayProgram(l.index); err == nil && id != 0 {
			v.found.Programs = append(v.found.Programs, heddle.Program{Link: l.name, Wire: &heddle.Wire{}})
		}
	}
	return err
}
