package agent

import (
	"log/slog"
	"slices"

	"github.com/heddle-network/heddle"
)

// hostPaths are the paths to other hosts: what shared networks need to reach them.
type hostPaths struct {
	kernel PlanApplier
	log    *slog.Logger
	host   *hostView
	wanted *wantedObjects
	modes  modes

	// updating is held while they change.
	updating mutex[atHostPathsUpdate]

	mu rwMutex[atHostPaths]
	// plan is theirs; only who holds making changes it. left are plans that it was before,
	// of which not all is removed yet. err is why it could not be made.
	plan heddle.Plan
	old  []heddle.Plan
	err  error
}

// update moves the paths that all shared networks need to the plan for the present fabric.
// The old parts are removed later, when the networks' routes no longer use them
// (unweave).
func (w *hostPaths) update(t *task) {
	if w.host.now().Fabric == nil {
		return
	}
	w.updating.Lock()
	defer w.updating.Unlock()
	t.waitFor("the kernel")
	old, next := w.current(), w.wantedPlan()
	add, gone := heddle.Delta(old.Host, next.Host)
	if add.Empty() && gone.Empty() {
		w.set(next)
		return
	}
	if len(add.Links) > 0 {
		add = next.Host // what lies on a device goes with it when it is made anew
	}
	w.wanted.add(next.Host)
	var err error
	if !add.Empty() {
		_, err = w.kernel.Apply(heddle.Plan{Host: add}, nil)
	}
	if err != nil && !gone.Empty() {
		// an old range may be in the way of a new one
		w.wanted.drop(old.Host)
		err = w.kernel.Remove(heddle.Plan{Host: gone}, nil, w.wanted.has)
		w.wanted.add(old.Host)
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
	w.old = append(w.old, old)
	w.mu.Unlock()
	w.set(next)
	if !add.Empty() {
		w.setError(err)
	}
}

// removeOld removes what the ways to other hosts needed before, and do not any more.
func (w *hostPaths) removeOld(t *task) {
	w.updating.Lock()
	defer w.updating.Unlock()
	t.waitFor("the kernel")
	w.mu.Lock()
	left := w.old
	w.old = nil
	w.mu.Unlock()
	for _, old := range left {
		w.wanted.drop(old.Host)
		_, gone := heddle.Delta(old.Host, w.current().Host)
		if gone.Empty() {
			continue
		}
		if err := w.kernel.Remove(heddle.Plan{Host: gone}, nil, w.wanted.has); err != nil {
			w.log.Error("ways to other hosts not all removed", "error", err)
		}
	}
}

// repair puts back what is missing.
func (w *hostPaths) repair() (made []string, err error) {
	w.updating.Lock()
	defer w.updating.Unlock()
	made, err = w.kernel.Mend(w.current().Host)
	w.setError(err)
	return made, err
}

// wantedPlan is what the shared networks need to reach other hosts, by mode.
func (w *hostPaths) wantedPlan() heddle.Plan {
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

// current is the plan of the ways that are wanted.
func (w *hostPaths) current() heddle.Plan {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.plan
}

// set notes the ways that are wanted. The plan counted as wanted before is the same, or in
// left.
func (w *hostPaths) set(p heddle.Plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan = p
}

// hasOld reports whether there are old ways to other hosts.
func (w *hostPaths) hasOld() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.old) > 0
}

func (w *hostPaths) setError(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && (w.err == nil || w.err.Error() != err.Error()) {
		w.log.Error("not all ways to other hosts are there", "error", err)
	}
	w.err = err
}

// problem returns why not all paths could be made; nil if all are there.
func (w *hostPaths) problem() error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.err
}
