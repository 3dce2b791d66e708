package kernel

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
)

// remoteKind are the peers that the fast path writes VXLAN to.
type remoteKind struct{}

func (remoteKind) make(a *attempt, _ *session, want *heddle.State) error {
	return each(want.Remotes, a.remote)
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
		a.recordUndo(r.Key(), func() error {
			if there {
				return nil // the earlier value is not known; it is corrected at the next change
			}
			return f.DropRemote(r.Addr)
		})
		return nil
	})
}

func (remoteKind) compare(d *differ, want *heddle.State) error {
	return d.fast(func(f *bpf.Fast) error {
		return each(want.Remotes, func(x heddle.Remote) error {
			there, same, err := f.HasRemote(x, d.index(x.Link))
			return d.note(x, there, same, err)
		})
	})
}

func (remoteKind) remove(r *removal, s *session, gone *heddle.State) {
	f, err := r.k.fastPath()
	if err != nil {
		return
	}
	for _, x := range slices.Backward(gone.Remotes) {
		r.step(s, x.Key(), "", func() error { return f.DropRemote(x.Addr) })
	}
}

func (remoteKind) own(v *inventory) error {
	f, err := v.fast()
	if f == nil {
		return err
	}
	for _, a := range f.Remotes() {
		v.found.Remotes = append(v.found.Remotes, heddle.Remote{Addr: a})
	}
	return nil
}
