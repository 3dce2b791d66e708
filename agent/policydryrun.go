package agent

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/policy"
)

// PolicyCommands is the dry run of CreatePolicies: what would change in the firewall, and on the fast path.
func (a *Agent) PolicyCommands(some []policy.Policy, replace bool) ([]string, error) {
	c, err := creation(some, replace)
	if err != nil {
		return nil, err
	}
	return a.policyCommands(c)
}

// DeletePolicyCommands is the dry run of DeletePolicy.
func (a *Agent) DeletePolicyCommands(name string) ([]string, error) {
	return a.policyCommands(deletion(name))
}

func (a *Agent) policyCommands(c policyChange) ([]string, error) {
	if err := a.takesPolicies(c); err != nil {
		return nil, err
	}
	next, lines, err := a.policies.commands(c)
	if err != nil || next == nil {
		return nil, err
	}
	guarded := map[heddle.EndpointID]bool{}
	for _, m := range a.policies.members() {
		guarded[m.ID] = next.Guards(m)
	}
	moved := a.records.filter(func(r record, _ string) bool { return r.Endpoint.Guarded != guarded[r.Endpoint.ID] })
	slices.SortFunc(moved, func(x, y record) int { return x.Endpoint.ID.Compare(y.Endpoint.ID) })
	for _, r := range moved {
		if n, err := a.networks.ofEndpoint(r.Endpoint); err == nil { // without a network it goes
			as := asGuarded(n, r, a.host.now(), guarded[r.Endpoint.ID])
			lines = append(lines, commands.Change(r.Plan.Host, as.Plan.Host, a.wanted.byOthers)...)
		}
	}
	return lines, nil
}

// commands are the policies after a change, and what the change would do in the firewall.
func (p *policies) commands(c policyChange) (policy.Policies, []string, error) {
	p.updating.Lock()
	defer p.updating.Unlock()
	members := p.members()
	next, err := c.checked(p.all(), members)
	if err != nil || next == nil {
		return nil, nil, err
	}
	told := p.refused.able || len(next) > 0 && p.refused.try() == nil // as the change would find out (replace)
	return next, commands.Change(p.guard.All(), next.Compile(members, told).All(), p.wanted.byOthers), nil
}
