package kernel

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
)

// shortcutKind are the addresses that the fast path finds.
type shortcutKind struct{}

func (shortcutKind) make(a *attempt, _ *session, want *heddle.State) error {
	return each(want.Shortcuts, a.shortcut)
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
		a.recordCreated(a.host, x.Key(), func() error { return f.Drop(x.Prefix) })
		return nil
	})
}

func (shortcutKind) compare(d *differ, want *heddle.State) error {
	return d.fast(func(f *bpf.Fast) error {
		return each(want.Shortcuts, func(x heddle.Shortcut) error {
			there, same, err := f.Has(x, d.index(x.Link))
			return d.note(x, there, same, err)
		})
	})
}

func (shortcutKind) remove(r *removal, s *session, gone *heddle.State) {
	f, err := r.k.fastPath()
	if err != nil {
		return
	}
	for _, x := range slices.Backward(gone.Shortcuts) {
		r.step(s, x.Key(), "", func() error { return f.Drop(x.Prefix) })
	}
}

func (shortcutKind) own(v *inventory) error {
	f, err := v.fast()
	if f == nil {
		return err
	}
	prefixes, err := f.Prefixes()
	for _, p := range prefixes {
		v.found.Shortcuts = append(v.found.Shortcuts, heddle.Shortcut{Prefix: p})
	}
	return err
}
