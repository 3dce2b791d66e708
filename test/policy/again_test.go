package policy_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle/agent"
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
	w := world.New(t, func(o *agent.Options) { o.Patrol = time.Second })
	n := w.Network(t, "net", "bridge")
	db, other := w.Pod(t, "db", "net"), w.Pod(t, "other", "net")
	db.Serve(t, 7000, db.Addrs()...)
	enforce(t, w, `
policies:
- {name: shut, endpoints: {networks: [later]}, directions: [ingress]}`)
	failures := tripped(w, "policed")
	_, err := w.NameNetwork(n.ID, "later", nil)
	cell.Must(t, err)
	repairIs(t, w, "bad not put right: policies")
	before := failures.Load()
	world.Soon(t, "it is tried again", func() error {
		if failures.Load() > before+2 {
			return nil
		}
		return errDiffers
	})
	repairIs(t, w, "bad not put right: policies")
	other.Gets(t, "db", 7000, db.Addrs()...)
	w.TripAt(nil)
	repairIs(t, w, "ok")
	world.Soon(t, "it is off the fast path", func() error {
		if !endpoint(t, w, db).Guarded {
			return errDiffers
		}
		return nil
	})
	other.GetsNothing(t, 7000, db.Addrs()...)
	w.AuditEmpty(t)
}

// repairIs waits until the status says it of the repair.
func repairIs(t *testing.T, w *world.World, want string) {
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

// TestRemovedLater: a rule that could not be taken away is told of, and taken away later.
func TestRemovedLater(t *testing.T) {
	w := world.New(t, func(o *agent.Options) { o.Patrol = time.Second })
	w.Network(t, "net", "bridge")
	db, web := w.Pod(t, "db", "net", labelled("app", "db")), w.Pod(t, "web", "net", labelled("app", "web"))
	db.Serve(t, 7000, db.Addrs()...)
	enforce(t, w, database)
	failures := tripped(w, "remove element/bridge/group")
	label(t, w, web, "app-")
	if failures.Load() == 0 {
		t.Fatal("no step failed")
	}
	repairIs(t, w, "bad not put right: policies")
	web.Gets(t, "db", 7000, db.Addrs()...)
	w.TripAt(nil)
	repairIs(t, w, "ok")
	web.GetsNothing(t, 7000, db.Addrs()...)
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

// TestFlushedAtAttach: somebody flushes the firewall just before an endpoint comes that a policy selects, or while it is made. It is guarded
// all the same; in the second case by the patrol, if that had made the firewall anew before the attach could notice.
func TestFlushedAtAttach(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	w.Pod(t, "db", "net", named("db"))
	other := w.Pod(t, "other", "net")
	enforce(t, w, closed+`
- {name: late, endpoints: {names: [late]}, directions: [ingress]}`)
	late := world.NewNetns(t, "late")
	for when, while := range map[string]bool{"ledger intent attach": false, "make element/bridge/macs": true} {
		flushed := false
		w.TripAt(func(step string) error {
			if !flushed && strings.HasPrefix(step, when) {
				flushed = true
				w.Host.Sh(t, "nft flush ruleset")
			}
			return nil
		})
		p := w.PodIn(t, late, "net", named("late"))
		guarded := func() error {
			if now := w.Host.Sh(t, "nft list map bridge heddle policed-in"); !strings.Contains(now, p.Endpoint.ID.PortName()) {
				return fmt.Errorf("%s: its port is not guarded: %s", when, now)
			}
			return nil
		}
		if while {
			world.Soon(t, when, guarded)
		} else if err := guarded(); err != nil {
			t.Error(err)
		}
		if e := endpoint(t, w, p); !e.Guarded || e.Fast != nil {
			t.Errorf("%s: it is on the fast path", when)
		}
		other.Silent(t, p.Addrs()...)
		if w.TripAt(nil); !flushed {
			t.Errorf("there is no step %q", when)
		}
		p.Leave(t)
	}
	world.Soon(t, "the others' rules are put back", func() error { return audited(w) }) // by the patrol, beside the attach
}

// audited fails if an audit finds something.
func audited(w *world.World) error {
	found, err := w.Audit()
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%+v", found)
	}
	return err
}

// TestFlushedAtChange: somebody flushes the firewall just before a policy is added or deleted. Both are done, without waiting for the patrol.
func TestFlushedAtChange(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	db, other := w.Pod(t, "db", "net", named("db")), w.Pod(t, "other", "net", named("other"))
	enforce(t, w, closed)
	flushes := 0
	w.TripAt(func(step string) error {
		if step == "ledger policies" {
			flushes++
			w.Host.Sh(t, "nft flush ruleset")
		}
		return nil
	})
	for range 3 {
		enforce(t, w, closed+`
- {name: other, endpoints: {names: [other]}, directions: [ingress]}`)
		if now := w.Host.Sh(t, "nft list map bridge heddle policed-in"); !strings.Contains(now, other.Port()) {
			t.Errorf("its port is not guarded: %s", now)
		}
		cell.Must(t, w.DeletePolicy("other"))
	}
	w.TripAt(nil)
	if flushes != 6 {
		t.Errorf("flushed %d times", flushes)
	}
	world.Soon(t, "the rules are put back", func() error { return audited(w) })
	other.Silent(t, db.Addrs()...)
}

// TestFastPathLeft: an endpoint that could not be taken off the fast path, past which its policy would be, is taken off later.
func TestFastPathLeft(t *testing.T) {
	w := world.New(t, func(o *agent.Options) { o.Patrol = time.Second })
	w.Network(t, "net", "bridge")
	db, other := w.Pod(t, "db", "net", labelled("app", "db")), w.Pod(t, "other", "net")
	db.Serve(t, 7002, db.Addrs()...)
	other.Gets(t, "db", 7002, db.Addrs()...)
	failures := tripped(w, "shortcut")
	if err := w.CreatePolicies(read(t, database), true); err == nil || failures.Load() == 0 {
		t.Fatalf("it is said to be enforced: %v; %d steps failed", err, failures.Load())
	}
	if e := endpoint(t, w, db); e.Guarded || e.Fast == nil {
		t.Error("an endpoint that is on the fast path is shown as guarded")
	}
	var early atomic.Bool
	w.TripAt(func(step string) error {
		if e, err := w.Endpoint(db.Endpoint.ID); strings.Contains(step, "shortcut") && (err != nil || e.Guarded) {
			early.Store(true)
		}
		return nil
	})
	world.Soon(t, "it is off the fast path", func() error {
		if e := endpoint(t, w, db); !e.Guarded || e.Fast != nil {
			return errDiffers
		}
		return nil
	})
	if early.Load() {
		t.Error("it is shown as guarded before it is off the fast path")
	}
	other.GetsNothing(t, 7002, db.Addrs()...)
	w.AuditEmpty(t)
}
