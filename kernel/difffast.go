package kernel

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
)

// fastPath compares what the fast path knows and where it hangs.
func (d *differ) fastPath(f *bpf.Fast, want heddle.State) error {
	for _, r := range want.Remotes {
		there, same, err := f.HasRemote(r, d.index(r.Link))
		if err := d.note(r, there, same, err); err != nil {
			return err
		}
	}
	for _, x := range want.Shortcuts {
		there, same, err := f.Has(x, d.index(x.Link))
		if err := d.note(x, there, same, err); err != nil {
			return err
		}
	}
	return each(want.Programs, func(p heddle.Program) error { return d.program(f, p) })
}

func (d *differ) note(o heddle.Object, there, same bool, err error) error {
	switch {
	case err != nil:
		return err
	case !there:
		return d.missing(o)
	case !same:
		return d.differs(o, "the fast path knows it in another way")
	}
	return nil
}

func (d *differ) program(f *bpf.Fast, p heddle.Program) error {
	index := d.index(p.Link)
	if index == 0 {
		return d.missing(p)
	}
	if p.Wire == nil {
		id, err := d.s.hanging(index)
		return d.note(p, id != 0, f.Is(id, f.Port()), err)
	}
	set, err := f.HasWire(*p.Wire)
	if err != nil {
		return err
	}
	id, _, err := d.s.onWire(index)
	return d.note(p, id != 0, set && f.Is(id, f.Wire()), err)
}
