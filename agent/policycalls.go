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
	c, err := creation(some, replace)
	if err != nil {
		return err
	}
	return a.changePolicies(c)
}

// policyChange is a change of the policies: to returns those that shall be instead of the old ones, or nil if nothing changes.
type policyChange struct {
	op, object string
	to         func(old policy.Policies) (policy.Policies, error)
}

// creation is the change that makes policies.
func creation(some []policy.Policy, replace bool) (policyChange, error) {
	const op = "create policies"
	names := make([]string, len(some))
	for i, p := range some {
		if err := p.Check(); err != nil {
			return policyChange{}, err
		}
		if names[i] = p.Name; slices.Contains(names[:i], p.Name) {
			return policyChange{}, heddle.Errorf(heddle.BadPolicy, op, p.Name, "the call has two of that name", "give each policy a name of its own")
		}
	}
	return policyChange{op, heddle.List(names), func(old policy.Policies) (policy.Policies, error) {
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
	}}, nil
}

// same reports whether two values are the same as they are recorded.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// DeletePolicy removes a policy.
func (a *Agent) DeletePolicy(name string) error { return a.changePolicies(deletion(name)) }

// deletion is the change that removes a policy.
func deletion(name string) policyChange {
	return policyChange{"delete policy", heddle.Clip(name), func(old policy.Policies) (policy.Policies, error) {
		if _, known := old[name]; !known {
			return nil, noPolicy(name)
		}
		next := maps.Clone(old)
		delete(next, name)
		return next, nil
	}}
}

// changePolicies makes a change.
func (a *Agent) changePolicies(c policyChange) error {
	if err := a.takesPolicies(c); err != nil {
		return err
	}
	t := a.tasks.begin(work{what: c.op}, "the kernel")
	defer t.end()
	if err := a.policies.replace(c); err != nil {
		return err
	}
	return a.fitGuards()
}

// takesPolicies refuses a change while the agent begins or ends.
func (a *Agent) takesPolicies(c policyChange) error {
	if !a.ready.Load() {
		return heddle.Errorf(heddle.Stopping, c.op, c.object, "", "call again when the agent is back")
	}
	return nil
}

// TestPolicies answers whether a connection would be allowed, and by which rule.
func (a *Agent) TestPolicies(q policy.Question) ([]policy.Answer, error) {
	return a.policies.all().Ask(a.policies.members(), q)
}
