package policy_test

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestUnguarded: what a policy selects and no port can guard is refused, whichever comes last: the policy, the label, or the endpoint. Nothing
// is changed then.
func TestUnguarded(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	w.Network(t, "far", "routed")
	p := w.Pod(t, "p", "far", labelled("app", "db"))
	before := w.Host.Dump(t)
	err := w.CreatePolicies(read(t, database), false)
	wantCode(t, err, heddle.Unguarded)
	if err == nil || !strings.Contains(err.Error(), "p/eth0 on network far of mode routed") {
		t.Errorf("it does not say which endpoint: %v", err)
	}
	if n := len(w.Policies()); n != 0 || w.Host.Dump(t) != before {
		t.Errorf("a policy that was refused has left something: %d policies", n)
	}
	label(t, w, p, "app-")
	enforce(t, w, database)
	_, err = w.Label(ctx, p.Endpoint.ID, heddle.LabelChange{Set: map[string]string{"app": "db"}})
	wantCode(t, err, heddle.Unguarded)
	if err == nil || !strings.Contains(err.Error(), "label endpoint") {
		t.Errorf("it does not say what was refused: %v", err)
	}
	if labels := endpoint(t, w, p).Labels; len(labels) > 0 {
		t.Errorf("the label that was refused is there: %v", labels)
	}
	ns := world.NewNetns(t, "q")
	for _, dry := range []bool{true, false} {
		_, err = w.Attach(ctx, w.Request(ns, "far", labelled("app", "db"), func(r *heddle.AttachRequest) { r.DryRun = dry }))
		wantCode(t, err, heddle.Unguarded)
	}
	w.AuditEmpty(t)
	w.PodIn(t, ns, "net", labelled("app", "db"))

	other := read(t, database)
	wantOK(t, w.CreatePolicies(other, false)) // as it is
	other[0].Rules = other[0].Rules[:1]
	wantCode(t, w.CreatePolicies(other, false), heddle.PolicyExists)
	wantCode(t, w.CreatePolicies(append(other, policy.Policy{Name: "none"}), true), heddle.BadPolicy)
	if shown, err := w.Policy("database"); err != nil || len(shown.Rules) != 3 || len(shown.Selected) != 1 || shown.Selected[0].Container != "q" {
		t.Errorf("the policy is now %+v, %v", shown, err)
	}
	w.AuditEmpty(t)
}

func wantOK(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// TestDrift: what somebody removes of a policy's rules is back soon, and a step that fails leaves what was there.
func TestDrift(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	db, other := w.Pod(t, "db", "net", labelled("app", "db")), w.Pod(t, "other", "net")
	db.Serve(t, 7002, db.Addrs()...)
	enforce(t, w, database)
	other.GetsNothing(t, 7002, db.Addrs()...)
	whole := rules(t, w)
	for _, damage := range []string{
		"nft flush chain bridge heddle policy-in",
		"nft flush map bridge heddle policed-in",
		"nft flush chain bridge heddle flow-in",
		"nft delete table bridge heddle",
		"nft flush ruleset",
	} {
		w.Host.Sh(t, "%s", damage)
		world.Soon(t, "the rules are back after "+damage, func() error {
			if now := rules(t, w); now != whole {
				return errDiffers
			}
			return nil
		})
		other.GetsNothing(t, 7002, db.Addrs()...)
	}
	w.AuditEmpty(t)
	for steps := 1; ; steps++ {
		n := 0
		w.TripAt(func(string) error {
			if n++; n == steps {
				return errDiffers
			}
			return nil
		})
		err := w.CreatePolicies(read(t, closed), true)
		w.TripAt(nil)
		if err == nil {
			break
		}
		if now := rules(t, w); now != whole || len(w.Policies()) != 1 {
			t.Fatalf("step %d failed and has left %d policies; rules are as before: %t", steps, len(w.Policies()), now == whole)
		}
	}
	cell.Must(t, w.DeletePolicy("closed"))
	w.AuditEmpty(t)
}
