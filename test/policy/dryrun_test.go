package policy_test

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

const (
	small = `
policies:
- name: database
  endpoints: {labels: {app: db}}
  rules:
  - {direction: ingress, action: allow, protocol: tcp, ports: [7000]}
`
	beside = `
policies:
- name: shut
  endpoints: {names: [db]}
  directions: [ingress, egress]
`
)

// TestDryRun: a dry run of policies changes nothing, and what it prints, typed while no agent runs, makes the rules that the agent makes.
func TestDryRun(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	db := w.Pod(t, "db", "net", labelled("app", "db"), named("db"))
	w.Pod(t, "web", "net", labelled("app", "web"))
	w.Network(t, "far", "routed")
	w.Pod(t, "r", "far", labelled("app", "none"))
	bare := rules(t, w)
	for _, step := range []struct {
		name string
		dry  func() ([]string, error)
		do   func() error
		fast string
	}{
		{"create", func() ([]string, error) { return w.PolicyCommands(read(t, database), false) },
			func() error { return w.CreatePolicies(read(t, database), false) }, "fast path: the program on the ingress of " + db.Endpoint.ID.PortName() + " goes"},
		{"replace", func() ([]string, error) { return w.PolicyCommands(read(t, small), true) },
			func() error { return w.CreatePolicies(read(t, small), true) }, ""},
		{"a second policy", func() ([]string, error) { return w.PolicyCommands(read(t, beside), false) },
			func() error { return w.CreatePolicies(read(t, beside), false) }, ""},
		{"delete one", func() ([]string, error) { return w.DeletePolicyCommands("database") }, func() error { return w.DeletePolicy("database") }, ""},
		{"delete the last", func() ([]string, error) { return w.DeletePolicyCommands("shut") }, func() error { return w.DeletePolicy("shut") }, "# fast path: "},
	} {
		t.Run(step.name, func(t *testing.T) {
			before, policies := w.Host.Dump(t), len(w.Policies())
			lines, err := step.dry()
			cell.Must(t, err)
			text := strings.Join(lines, "\n")
			if w.Host.Dump(t) != before || len(w.Policies()) != policies {
				t.Error("a dry run has changed something")
			}
			if step.fast != "" && !strings.Contains(text, step.fast) {
				t.Errorf("it does not say what changes on the fast path:\n%s", text)
			}
			typed := ""
			w.Restart(t, func() {
				w.Host.Sh(t, "%s", text)
				typed = rules(t, w)
			})
			cell.Must(t, step.do())
			if made := rules(t, w); made != typed {
				t.Errorf("typed:\n%s\nmade:\n%s\nby\n%s", typed, made, text)
			}
			w.AuditEmpty(t)
		})
	}
	if now := rules(t, w); now != bare {
		t.Errorf("policies have left something:\n%s\nbefore:\n%s", now, bare)
	}
	// it refuses what the call itself refuses, and says when there is nothing to do
	_, err := w.DeletePolicyCommands("database")
	wantCode(t, err, heddle.NoPolicy)
	_, err = w.PolicyCommands(read(t, strings.ReplaceAll(beside, "names: [db]", "networks: [far]")), false)
	wantCode(t, err, heddle.Unguarded)
	enforce(t, w, small)
	_, err = w.PolicyCommands(read(t, database), false)
	wantCode(t, err, heddle.PolicyExists)
	if lines, err := w.PolicyCommands(read(t, small), false); err != nil || len(lines) > 0 {
		t.Errorf("what is there already: %v, %v", lines, err)
	}
}
