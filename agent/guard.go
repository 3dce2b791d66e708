package agent

import (
	"errors"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/policy"
)

// Whom a policy selects takes the host's stack, past which the fast path would lead.

// guard has the port of an endpoint that is recorded in memory guarded before it is made, and returns its record with the plan that
// goes with that.
func (a *Agent) guard(r record) (record, error) {
	n, err := a.networks.ofEndpoint(r.Endpoint)
	if err != nil {
		return r, err
	}
	guarded, err := a.policies.admit(n, r.Endpoint)
	if err != nil || !guarded {
		return r, err
	}
	next := asGuarded(n, r, a.host.now(), true)
	a.records.replace(r, next)
	return next, nil
}

// withGuard is a record as the policies of the ledger want it: an agent that was killed may not have come to that.
func (a *Agent) withGuard(r record, all policy.Policies) record {
	n, err := a.networks.ofEndpoint(r.Endpoint)
	if err != nil {
		return r
	}
	return asGuarded(n, r, a.host.now(), all.Guards(a.policies.member(n, r.Endpoint)))
}

// fitGuard moves an endpoint onto the fast path or off it, after a policy has begun or ceased to select it. What fails is tried again.
func (a *Agent) fitGuard(n *network, old record) (record, error) {
	a.endpointLocks.mustHold(old.Endpoint.ID)
	guarded := a.policies.all().Guards(a.policies.member(n, old.Endpoint))
	if guarded == old.Endpoint.Guarded {
		return old, nil
	}
	next := asGuarded(n, old, a.host.now(), guarded)
	if err := a.ledger.putRecord(next); err != nil {
		return old, err
	}
	changing := next
	changing.Endpoint.Guarded = false // nobody is told so while a packet can still pass on the fast path
	a.records.replace(old, changing)
	add, gone := heddle.Delta(old.Plan.Host, next.Plan.Host)
	_, err := a.kernel.Apply(heddle.Plan{Host: add}, nil)
	if err = errors.Join(err, a.kernel.Remove(heddle.Plan{Host: gone}, nil, a.wanted.has)); err != nil {
		a.policies.unsettled.Store(true)
		a.records.replace(changing, old)
		return old, errors.Join(err, a.ledger.putRecord(old))
	}
	a.records.replace(changing, next)
	return next, nil
}

// fitGuards does this for all endpoints.
func (a *Agent) fitGuards() error {
	guarded := map[heddle.EndpointID]bool{}
	for _, m := range a.policies.members() {
		guarded[m.ID] = a.policies.all().Guards(m)
	}
	var errs []error
	// one that is being made as well: it may have asked before the policies changed
	for _, r := range a.records.filter(func(r record, _ string) bool { return r.Endpoint.Guarded != guarded[r.Endpoint.ID] }) {
		errs = append(errs, a.fitGuardOf(r.Endpoint.ID))
	}
	return errors.Join(errs...)
}

func (a *Agent) fitGuardOf(id heddle.EndpointID) error {
	defer a.endpointLocks.Lock(id)()
	r, op, known := a.records.withOperation(id)
	if !known || op != "" {
		return nil // it goes
	}
	n, err := a.networks.ofEndpoint(r.Endpoint)
	if err != nil {
		return err
	}
	_, err = a.fitGuard(n, r)
	return err
}

// asGuarded is a record with or without the parts of the fast path.
func asGuarded(n *network, r record, h heddle.HostFacts, guarded bool) record {
	if guarded == r.Endpoint.Guarded {
		return r
	}
	r.Endpoint.Guarded = guarded
	isFast := func(o heddle.Object) bool {
		switch o.(type) {
		case heddle.Program, heddle.Shortcut:
			return true
		}
		return false
	}
	r.Plan.Host = r.Plan.Host.Filter(func(o heddle.Object) bool { return !isFast(o) })
	if !guarded {
		if p, err := n.planFor(h, r.Endpoint); err == nil { // a plan that cannot be made now leaves the endpoint on the host's stack
			r.Plan.Host = heddle.Append(r.Plan.Host, p.Host.Filter(isFast))
		}
	}
	return r
}

// policiesSoon has the firewall and the fast path brought in line with endpoints whose addresses or networks' names have changed, and with what
// has failed before.
func (a *Agent) policiesSoon() {
	if len(a.policies.all()) == 0 && !a.policies.unsettled.Load() {
		return
	}
	// its key is not that of the repair, which would take the place of this
	a.repairJobs.start("follow policies", work{what: "enforce policies"}, func(t *task) {
		t.waitFor("the kernel")
		a.policies.unsettled.Store(false)
		if a.policies.refresh() != nil {
			return
		}
		if err := a.fitGuards(); err != nil {
			a.log.Error("fast path not in line with policies", "error", err)
		}
	})
}
