package agent

import (
	"errors"

	"github.com/heddle-network/heddle"
)

// leftovers are what something needed, needs no more, and has in the kernel still. They belong to who brings the kernel in line with it, and are
// guarded by the same lock.
type leftovers struct {
	states []heddle.State
	err    error // why not all could be removed
}

func (l *leftovers) add(s heddle.State) {
	if !s.Empty() {
		l.states = append(l.states, s)
	}
}

// remove removes them, except for what others want. What cannot be removed stays, for the next time.
func (l *leftovers) remove(k PlanApplier, wanted *wantedObjects) {
	var errs []error
	var left []heddle.State
	for _, s := range l.states {
		if err := k.Remove(heddle.Plan{Host: s}, nil, wanted.has); err != nil {
			errs, left = append(errs, err), append(left, s)
		}
	}
	l.states, l.err = left, errors.Join(errs...)
}
