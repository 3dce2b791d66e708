package kernel

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
)

// fastPath makes what the fast path knows, then hangs its programs in: it comes last,
// when what it leads to is there.
func (a *attempt) fastPath(want heddle.State) error {
	for _, phase := range []func() error{
		func() error { return each(want.Remotes, a.remote) },
		func() error { return each(want.Shortcuts, a.shortcut) },
		func() error { return each(want.Programs, a.program) },
	} {
		if err := phase(); err != nil {
			return err
		}
	}
	return nil
}

func (a *attempt) remote(r heddle.Remote) error {
	return a.step("make", r.Key(), func() error {
		f, index, err := a.fastOn(r.Link)
		if err != nil {
			return err
		}
		there, same, err := f.HasRemote(r, index)
		if err != nil || same {
			return err
		}
		if err := f.PutRemote(r, index); err != nil {
			return err
		}
		a.did(r.Key(), func() error {
			if there {
				return nil // what it was is not known; it is corrected at the next change
			}
			return f.DropRemote(r.Addr)
		})
		return nil
	})
}

func (a *attempt) shortcut(x heddle.Shortcut) error {
	return a.step("make", x.Key(), func() error {
		f, index, err := a.fastOn(x.Link)
		if err != nil {
			return err
		}
		_, same, err := f.Has(x, index)
		if err != nil || same {
			return err
		}
		if err := f.Put(x, index); err != nil {
			return err
		}
		a.born(a.host, x.Key(), func() error { return f.Drop(x.Prefix) })
		return nil
	})
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
			id, err := a.host.hanging(index)
			if err != nil || id != 0 && f.Is(id, f.Port()) {
				return err
			}
		}
		if err := a.host.hang(index, f.Port()); err != nil {
			return err
		}
		a.born(a.host, p.Key(), func() error { return a.host.unhang(index) })
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
	id, tcx, err := a.host.onWire(index)
	if err != nil || id != 0 && f.Is(id, f.Wire()) {
		return err
	}
	if err := a.host.hangOnWire(index, f.Wire(), id, tcx); err != nil {
		return err
	}
	a.born(a.host, p.Key(), func() error { return a.host.unhangFromWire(index) })
	return nil
}

// fastOn is the fast path, and the index of an interface of the host, 0 of none.
func (a *attempt) fastOn(link string) (*bpf.Fast, int, error) {
	f, err := a.k.fastPath()
	if err != nil || link == "" {
		return f, 0, err
	}
	index, err := a.host.ifindex(link)
	return f, index, err
}
