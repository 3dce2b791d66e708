package agent

import (
	"log/slog"
	"slices"

	"github.com/heddle-network/heddle"
)

// ways are the paths to other hosts: what shared networks need to reach them.
type ways struct {
	kernel Interpreter
	log    *slog.Logger
	host   *hostView
	wants  *wants
	modes  modes

	// making is held while they change.
	making mutex[atReaching]

	mu rwMutex[atWays]
	// plan is theirs; only who holds making changes it. left are plans that it was before,
	// of which not all is removed yet. err is why it could not be made.
	plan heddle.Plan
	left []heddle.Plan
	err  error
}

// weave moves the paths that all shared networks need to the plan for the present fabric.
// The old parts are removed later, when the networks' routes no longer use them
// (unweave).
func (w *ways) weave(t *task) {
	if w.host.now().Fabric == nil {
		return
	}
	w.making.Lock()
	defer w.making.Unlock()
	t.awaits("the kernel")
	old, next := w.now(), w.planned()
	add, gone := heddle.Delta(old.Host, next.Host)
	if add.Empty() && gone.Empty() {
		w.set(next)
		return
	}
	if len(add.Links) > 0 {
		add = next.Host // what lies on a device goes with it when it is made anew
	}
	w.wants.add(next.Host)
	var err error
	if !add.Empty() {
		_, err = w.kernel.Apply(heddle.Plan{Host: add}, nil)
	}
	if err != nil && !gone.Empty() {
		// an old range may be in the way of a new one
		w.wants.drop(old.Host)
		err = w.kernel.Remove(heddle.Plan{Host: gone}, nil, w.wants.has)
		w.wants.add(old.Host)
		if err == nil {
			_, err = w.kernel.Apply(next, nil)
		}
	}
	if err != nil {
		// the kernel may refuse what one peer says about itself: the paths to the others
		// are still made, and the patrol tries again
		_, err = w.kernel.Mend(next.Host)
	}
	w.mu.Lock()
	w.left = append(w.left, old)
	w.mu.Unlock()
	w.set(next)
	if !add.Empty() {
		w.setError(err)
	}
}

// unweave removes what the ways to other hosts needed before, and do not any more.
func (w *ways) unweave(t *task) {
	w.making.Lock()
	defer w.making.Unlock()
	t.awaits("the kernel")
	w.mu.Lock()
	left := w.left
	w.left = nil
	w.mu.Unlock()
	for _, old := range left {
		w.wants.drop(old.Host)
		_, gone := heddle.Delta(old.Host, w.now().Host)
		if gone.Empty() {
			continue
		}
		if err := w.kernel.Remove(heddle.Plan{Host: gone}, nil, w.wants.has); err != nil {
			w.log.Error("ways to other hosts not all removed", "error", err)
		}
	}
}

// mend puts back what is missing.
func (w *ways) mend() (made []string, err error) {
	w.making.Lock()
	defer w.making.Unlock()
	made, err = w.kernel.Mend(w.now().Host)
	w.setError(err)
	return made, err
}

// planned is what the shared networks need to reach other hosts, by mode.
func (w *ways) planned() heddle.Plan {
	var p heddle.Plan
	host := w.host.now()
	for _, m := range w.modes {
		r, spans := m.(heddle.Reacher)
		used := slices.ContainsFunc(host.Fabric.Networks, func(n heddle.Network) bool { return n.Mode == m.Name() })
		if spans && used {
			p.Host, _ = p.Host.Union(r.Reach(host).Host)
		}
	}
	return p
}

// now is the plan of the ways that are wanted.
func (w *ways) now() heddle.Plan {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.plan
}

// set notes the ways that are wanted. The plan counted as wanted before is the same, or in
// left.
func (w *ways) set(p heddle.Plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan = p
}

// hasLeft reports whether there are old ways to other hosts.
func (w *ways) hasLeft() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.left) > 0
}

func (w *ways) setError(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && (w.err == nil || w.err.Error() != err.Error()) {
		w.log.Error("not all ways to other hosts are there", "error", err)
	}
	w.err = err
}

// broken returns why not all paths could be made; nil if all are there.
func (w *ways) broken() error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.err
}
