package agent

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// plans combines all plans of this host and compares them with the kernel. It has no state
// of its own.
type plans struct {
	kernel    PlanApplier
	networks  *register
	records   *records
	hostPaths *hostPaths
	policies  *policies
	havips    *havips
	routes    *vpcRoutes
	wanted    *wantedObjects
}

// union returns the host's wanted state: the plans of all networks and endpoints, except endpoints
// that the findings name as owners.
func (p *plans) union(without ...heddle.Finding) heddle.State {
	skip := map[string]bool{}
	for _, f := range without {
		skip[f.Owner] = true
	}
	var u unionBuilder
	u.add(p.hostPaths.current().Host)
	u.add(p.policies.state())
	u.add(p.havips.wants())
	u.add(p.routes.wants())
	for _, n := range p.networks.copies() {
		u.add(n.plan.Host)
	}
	p.records.each(func(r record, _ string) {
		if !skip[r.Endpoint.ID.String()] {
			u.add(r.Plan.Host)
		}
	})
	return u.state
}

// firewallBroken compares the static part of the firewall only.
func (p *plans) firewallBroken() bool {
	var u unionBuilder
	for _, n := range p.networks.copies() {
		u.add(heddle.State{Firewall: n.plan.Host.Firewall})
	}
	u.add(heddle.State{Firewall: p.policies.state().Firewall})
	u.add(heddle.State{Firewall: p.havips.wants().Firewall})
	u.add(heddle.State{Firewall: p.routes.wants().Firewall})
	drift, err := p.kernel.Diff(heddle.Plan{Host: u.state}, nil)
	return err != nil || len(drift) > 0
}

// ownersOf finds the networks and endpoints that want the objects that differ. Left out are endpoints that were
// unfinished when the kernel was read, or are now: an operation makes or removes their objects.
func (p *plans) ownersOf(drift []kernel.Difference, unfinished map[heddle.EndpointID]bool) owners {
	if len(drift) == 0 {
		return owners{}
	}
	keys := map[string]bool{}
	for _, d := range drift {
		keys[d.Key] = true
	}
	found := owners{hostPaths: wantsAny(p.hostPaths.current().Host, keys), policies: wantsAny(p.policies.state(), keys), havips: wantsAny(p.havips.wants(), keys), routes: wantsAny(p.routes.wants(), keys)}
	for _, n := range p.networks.copies() {
		if wantsAny(n.plan.Host, keys) {
			found.networks = append(found.networks, n.Network)
		}
	}
	found.endpoints = p.records.filter(func(r record, op string) bool {
		return op == "" && !unfinished[r.Endpoint.ID] && wantsAny(r.lastingState(), keys)
	})
	return found
}

// leftovers lists our objects on the host that no plan wants.
func (p *plans) leftovers() ([]string, error) {
	owned, err := p.kernel.Ours()
	if err != nil {
		return nil, err
	}
	// asked only now: an object is wanted before it is made
	return slices.DeleteFunc(owned.Keys(), p.wanted.has), nil
}

// usesFastPath reports whether a plan attaches a program of the fast path.
func (p *plans) usesFastPath() bool {
	if len(p.hostPaths.current().Host.Programs) > 0 {
		return true
	}
	uses := false
	p.records.each(func(r record, _ string) { uses = uses || len(r.Plan.Host.Programs) > 0 })
	return uses
}

type owners struct {
	hostPaths bool
	policies  bool
	havips    bool
	routes    bool
	networks  []heddle.Network
	endpoints []record
}

func wantsAny(s heddle.State, keys map[string]bool) bool {
	for _, o := range s.Objects() {
		if keys[o.Key()] {
			return true
		}
	}
	return false
}

// unionBuilder adds up states without comparing them: if two plans want one object, they want it
// with the same settings, since conflicts were refused before.
type unionBuilder struct {
	state heddle.State
	seen  map[string]bool
}

func (u *unionBuilder) add(s heddle.State) {
	if u.seen == nil {
		u.seen = map[string]bool{}
	}
	more := s.Filter(func(o heddle.Object) bool {
		known := u.seen[o.Key()]
		u.seen[o.Key()] = true
		return !known
	})
	u.state = heddle.Append(u.state, more)
}
