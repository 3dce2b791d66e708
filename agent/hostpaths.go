package agent

import (
	"log/slog"
	"slices"

	"github.com/heddle-network/heddle"
)

// hostPaths are the kernel objects that shared networks need to reach other hosts.
type hostPaths struct {
	kernel PlanApplier
	log    *slog.Logger
	host   *hostView
	wanted *wantedObjects
	modes  modes

	// updating is held while the paths change.
	updating mutex[atHostPathsUpdate]

	mu rwMutex[atHostPaths]
	// plan is the paths' plan; only the holder of updating changes it. old are earlier plans that
	// are not wholly removed yet. err is why the plan could not be made.
	plan heddle.Plan
	old  []heddle.Plan
	err  error
}

// update makes the paths that the shared networks need by the present fabric. The old parts are
// removed later (removeOld), when the networks' routes no longer use them.
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
		add = next.Host // if a device is made again, everything on it has to be made again
	}
	w.wanted.add(next.Host)
	var err error
	if !add.Empty() {
		_, err = w.kernel.Apply(heddle.Plan{Host: add}, nil)
	}
	if err != nil && !gone.Empty() {
		// an old address range may conflict with a new one
		w.wanted.drop(old.Host)
		err = w.kernel.Remove(heddle.Plan{Host: gone}, nil, w.wanted.has)
		w.wanted.add(old.Host)
		if err == nil {
			_, err = w.kernel.Apply(next, nil)
		}
	}
	if err != nil {
		// the kernel may refuse what one peer's record says: the paths to the others are still
		// made, and the patrol tries again
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

// removeOld removes the old parts of the paths that are needed no longer.
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

// repair puts back missing parts of the paths.
func (w *hostPaths) repair() (made []string, err error) {
	w.updating.Lock()
	defer w.updating.Unlock()
	made, err = w.kernel.Mend(w.current().Host)
	w.setError(err)
	return made, err
}

// wantedPlan returns what the shared networks need to reach other hosts, by mode.
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

// current returns the plan of the paths that are wanted.
func (w *hostPaths) current() heddle.Plan {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.plan
}

// set notes the plan of the wanted paths. The previous plan, which is counted as wanted, is the
// same or in old.
func (w *hostPaths) set(p heddle.Plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plan = p
}

// hasOld reports whether there are old paths to other hosts.
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
