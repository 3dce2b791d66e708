package crash_test

import (
	"errors"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

// TestKillWithPolicies kills the agent while policies come, change and go, with an endpoint that they select, and while such an endpoint is
// attached and detached: a policy is there whole or not at all, and so is what the firewall has for it.
func TestKillWithPolicies(t *testing.T) {
	soak.Turn(t, 0)
	cell.Need(t)
	group := func(app string) policy.Peer {
		return policy.Peer{Endpoints: &policy.Selector{Labels: map[string]string{"app": app}}}
	}
	shut := policy.Policy{Name: "shut", Endpoints: policy.Selector{Networks: []string{"net"}}, Rules: []policy.Rule{
		{Direction: policy.Ingress, Action: policy.Allow, Protocol: "tcp", Ports: []string{"80"}, Peers: []policy.Peer{group("web")}}}}
	other := shut
	other.Rules = []policy.Rule{{Direction: policy.Egress, Action: policy.Allow, Peers: []policy.Peer{group("db")}}}
	attach := func(a *cell.Agent, pod string) error {
		_, err := a.Attach(ctx, request("bridge", pod))
		return err
	}
	enforce := func(a *cell.Agent, p policy.Policy) error {
		return a.CreatePolicies(ctx, []policy.Policy{p}, true)
	}
	prepare := func(with ...func(a *cell.Agent, pod string) error) func(*testing.T, *cell.Agent, string) {
		return func(t *testing.T, a *cell.Agent, pod string) {
			_, _, err := a.CreateNetwork(ctx, network("bridge"), false)
			cell.Must(t, err)
			for _, do := range with {
				cell.Must(t, do(a, pod))
			}
		}
	}
	clearAll := func(t *testing.T, a *cell.Agent) {
		all, err := a.Policies(ctx)
		cell.Must(t, err)
		for _, p := range all {
			cell.Must(t, a.DeletePolicy(ctx, p.Name))
		}
		_, err = a.Detach(ctx, request("bridge", "").ID)
		cell.Must(t, err)
		if err := a.DeleteNetwork(ctx, "net"); err != nil && !errors.Is(err, heddle.NoNetwork.Sentinel()) {
			t.Error(err)
		}
	}
	first := func(a *cell.Agent, _ string) error { return enforce(a, shut) }
	for _, op := range []operation{
		{"create", prepare(attach), first, clearAll, nil, 4},
		{"replace", prepare(attach, first), func(a *cell.Agent, _ string) error { return enforce(a, other) }, clearAll, nil, 4},
		{"delete", prepare(attach, first), func(a *cell.Agent, _ string) error { return a.DeletePolicy(ctx, "shut") }, clearAll, nil, 3},
		{"attach", prepare(first), attach, clearAll, nil, 8},
		{"detach", prepare(first, attach), func(a *cell.Agent, _ string) error {
			_, err := a.Detach(ctx, request("bridge", "").ID)
			return err
		}, clearAll, nil, 8},
	} {
		t.Run(op.name, func(t *testing.T) {
			if op.name == "create" || op.name == "detach" {
				soak.Need(t, "the steps of replace and attach are much the same")
			}
			killAtEveryStep(t, op)
		})
	}
}
