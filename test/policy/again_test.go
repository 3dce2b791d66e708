package policy_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// tripped has each step with the word in its name fail, and counts them.
func tripped(w *world.World, word string) *atomic.Int64 {
	var n atomic.Int64
	w.TripAt(func(step string) error {
		if !strings.Contains(step, word) {
			return nil
		}
		n.Add(1)
		return errDiffers
	})
	return &n
}

// TestTriedAgain: what could not be enforced when a network got its name is told, and enforced as soon as it can be.
func TestTriedAgain(t *testing.T) {
	w := world.New(t)
	n := w.Network(t, "net", "bridge")
	db, other := w.Pod(t, "db", "net"), w.Pod(t, "other", "net")
	db.Serve(t, 7000, db.Addrs()...)
	enforce(t, w, `
policies:
- {name: shut, endpoints: {networks: [later]}, directions: [ingress]}`)
	failures := tripped(w, "policed")
	_, err := w.NameNetwork(n.ID, "later", nil)
	cell.Must(t, err)
	repair := func(want string) {
		t.Helper()
		world.Soon(t, "the status says "+want, func() error {
			for _, p := range w.Status().Parts {
				if p.Name == "repair" && strings.Contains(p.State+" "+p.Detail, want) {
					return nil
				}
			}
			return errDiffers
		})
	}
	repair("bad not put right: policies")
	before := failures.Load()
	world.Soon(t, "it is tried again", func() error {
		if failures.Load() > before+2 {
			return nil
		}
		return errDiffers
	})
	repair("bad not put right: policies")
	other.Gets(t, "db", 7000, db.Addrs()...)
	w.TripAt(nil)
	repair("ok")
	world.Soon(t, "it is off the fast path", func() error {
		if !endpoint(t, w, db).Guarded {
			return errDiffers
		}
		return nil
	})
	other.GetsNothing(t, 7000, db.Addrs()...)
	w.AuditEmpty(t)
}

// TestStartOpensNothing: an agent that cannot make all that policies need leaves what an earlier one has made.
func TestStartOpensNothing(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	db, other := w.Pod(t, "db", "net", labelled("app", "db")), w.Pod(t, "other", "net")
	db.Serve(t, 7002, db.Addrs()...)
	enforce(t, w, database)
	whole := rules(t, w)
	w.Restart(t, func() {
		w.Host.Sh(t, "nft flush map bridge heddle policed-out")
		tripped(w, "policed-out")
	})
	other.GetsNothing(t, 7002, db.Addrs()...)
	w.TripAt(nil)
	world.Soon(t, "the rest is there", func() error {
		if rules(t, w) != whole {
			return errDiffers
		}
		return nil
	})
	other.GetsNothing(t, 7002, db.Addrs()...)
	w.AuditEmpty(t)
}

// TestFlushedBeforeAttach: somebody flushes the firewall, and at once an endpoint comes that a policy selects. It is not open for a moment.
func TestFlushedBeforeAttach(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	w.Pod(t, "db", "net", named("db"))
	other := w.Pod(t, "other", "net")
	enforce(t, w, closed+`
- {name: late, endpoints: {names: [late]}, directions: [ingress]}`)
	late := world.NewNetns(t, "late")
	for range 3 {
		w.Host.Sh(t, "nft flush ruleset")
		p := w.PodIn(t, late, "net", named("late"))
		if now := w.Host.Sh(t, "nft list map bridge heddle policed-in"); !strings.Contains(now, p.Endpoint.ID.PortName()) {
			t.Errorf("its port is not guarded: %s", now)
		}
		other.Silent(t, p.Addrs()...)
		p.Leave(t)
	}
	w.AuditEmpty(t)
}
