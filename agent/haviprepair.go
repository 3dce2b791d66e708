package agent

import (
	"errors"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
)

// look is the patrol's: it tries again what has failed, and hears on a bridge that has been made anew.
func (v *havips) look() {
	if v.unsettled.Load() {
		v.refresh()
	}
	v.updating.Lock()
	defer v.updating.Unlock()
	v.listen()
}

// restore brings the kernel in line with the ledger. What fails must not prevent the start.
func (v *havips) restore(all havip.All, holders havip.Holders) {
	v.updating.Lock()
	defer v.updating.Unlock()
	members := v.members()
	valid := all.Valid(holders, members)
	state := v.compile(all, valid, members)
	v.wanted.add(state)
	v.set(all, valid, state)
	err := v.ledger.putHolders(valid)
	if !state.Empty() {
		if _, failed := v.kernel.Apply(heddle.Plan{Host: state}, nil); failed != nil {
			v.kernel.Mend(state)
			err = errors.Join(err, failed)
		}
	}
	v.tell(err)
	v.listen()
}

// repair puts back what somebody has removed or changed.
func (v *havips) repair() ([]string, error) {
	v.updating.Lock()
	defer v.updating.Unlock()
	return v.kernel.Mend(v.state)
}
