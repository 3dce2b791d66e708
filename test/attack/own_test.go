package attack_test

import (
	"slices"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

// ownAttack is an attack that makes the hosts and containers it needs by itself,
// in a cell of its own, once for each of its modes and settings.
type ownAttack struct {
	// class is the id of the attack's class, see classes.
	class, name string
	// modes are those in which it is mounted, separated by spaces.
	modes string
	// mount says whether the attack succeeded in that mode, with what prevents it
	// in place, or taken away (open).
	mount func(t *testing.T, mode string, open bool) (succeeded bool)
	// certain says why no control is possible; limit why nothing on the host can
	// prevent it: it is then expected to succeed.
	certain, limit string
	// need skips the attack where the kernel lacks what it uses; nil if none does.
	need func(t *testing.T)
}

// result is what the page says of it.
func (a ownAttack) result() string {
	switch {
	case a.limit != "":
		return "limit"
	case a.certain != "":
		return "prevented (kernel)"
	}
	return "prevented"
}

// ownAttacks lists them all.
func ownAttacks() []ownAttack {
	return slices.Concat[[]ownAttack](
		// one function a subject, one line each
		shadowAttacks(),
		reuseAttacks(),
		loopbackAttacks(),
		storeAttacks(),
		insideAttacks(),
		keepAttacks(),
		farEndAttacks(),
		tokenAttacks(),
		custodyAttacks(),
		foreignAttacks(),
		freezeAttacks(),
		wordAttacks(),
		besideAttacks(),
		questionAttacks(),
		askerAttacks(),
		leaseAttacks(),
		routerAttacks(),
		pingAttacks(),
	)
}

// TestOwnAttacks mounts each of them in each of its modes: in vain, then without
// what prevents it, where it must succeed.
func TestOwnAttacks(t *testing.T) {
	cell.Need(t)
	ran := tally{}
	for i, a := range ownAttacks() {
		for j, mode := range a.listing().modes {
			t.Run(a.name+"/"+mode, func(t *testing.T) {
				if a.need != nil {
					ran.did(a.name, mode) // where the kernel cannot do it, nobody can
					a.need(t)
				}
				t.Run("guarded", func(t *testing.T) {
					if got := a.mount(t, mode, false); got != (a.limit != "") {
						t.Errorf("the attack succeeded: %v (limit: %q)", got, a.limit)
					}
					ran.did(a.name, mode)
				})
				if a.certain != "" || a.limit != "" {
					return
				}
				t.Run("control", func(t *testing.T) {
					soak.Turn(t, (i+j)%soak.Turns)
					if !a.mount(t, mode, true) {
						t.Error("the attack fails without what prevents it too: it proves nothing")
					}
				})
			})
		}
		ran.complete(t, a.listing())
	}
}
