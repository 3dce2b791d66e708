package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/policy"
)

// Policies lists the policies of this host, by name.
func (a *Agent) Policies() []policy.Policy {
	return slices.SortedFunc(maps.Values(a.policies.all()), func(x, y policy.Policy) int { return cmp.Compare(x.Name, y.Name) })
}

// Policy returns a policy, and which endpoints it selects.
func (a *Agent) Policy(name string) (policy.Shown, error) {
	p, known := a.policies.all()[name]
	if !known {
		return policy.Shown{}, noPolicy(name)
	}
	shown := policy.Shown{Policy: p, Selected: []heddle.EndpointID{}}
	for _, m := range a.policies.members() {
		if p.Endpoints.Selects(m) {
			shown.Selected = append(shown.Selected, m.ID)
		}
	}
	return shown, nil
}

func noPolicy(name string) error {
	return heddle.Errorf(heddle.NoPolicy, "find policy", heddle.Clip(name), "", "'heddle policy list' shows those there are")
}

// CreatePolicies makes policies, all or none. Those that are there and say the same are left as they are. Those that say something else
// are replaced, or without replace refused.
func (a *Agent) CreatePolicies(some []policy.Policy, replace bool) error {
	const op = "create policies"
	names := make([]string, len(some))
	for i, p := range some {
		if err := p.Check(); err != nil {
			return err
		}
		if names[i] = p.Name; slices.Contains(names[:i], p.Name) {
			return heddle.Errorf(heddle.BadPolicy, op, p.Name, "the call has two of that name", "give each policy a name of its own")
		}
	}
	return a.changePolicies(op, heddle.List(names), func(old policy.Policies) (policy.Policies, error) {
		next := policy.Policies{}
		maps.Copy(next, old)
		for _, p := range some {
			if was, known := old[p.Name]; known && !replace && !same(was, p) {
				return nil, heddle.Errorf(heddle.PolicyExists, op, p.Name, "", "choose another name, or replace it with 'heddle policy apply FILE'")
			}
			next[p.Name] = p
		}
		if same(old, next) {
			return nil, nil
		}
		return next, nil
	})
}

// same reports whether two values are the same as they are recorded.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// DeletePolicy removes a policy.
func (a *Agent) DeletePolicy(name string) error {
	return a.changePolicies("delete policy", heddle.Clip(name), func(old policy.Policies) (policy.Policies, error) {
		if _, known := old[name]; !known {
			return nil, noPolicy(name)
		}
		next := maps.Clone(old)
		delete(next, name)
		return next, nil
	})
}

// changePolicies replaces the policies by what change returns; nil leaves them as they are.
func (a *Agent) changePolicies(op, object string, change func(policy.Policies) (policy.Policies, error)) error {
	if !a.ready.Load() {
		return heddle.Errorf(heddle.Stopping, op, object, "", "call again when the agent is back")
	}
	t := a.tasks.begin(work{what: op}, "the kernel")
	defer t.end()
	if err := a.policies.replace(op, object, change); err != nil {
		return err
	}
	return a.fitGuards()
}

// TestPolicies answers whether a connection would be allowed, and by which rule.
func (a *Agent) TestPolicies(q policy.Question) ([]policy.Answer, error) {
	return a.policies.all().Ask(a.policies.members(), q)
}
