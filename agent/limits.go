package agent

import (
	"context"
	"errors"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/events"
)

// checkLimits refuses limits where a mode has nothing on the host that all frames of a container pass.
func (a *Agent) checkLimits(n *network, id heddle.EndpointID, l heddle.RateLimits) error {
	if l.IsZero() {
		return nil
	}
	if m, ok := n.mode.(heddle.RateLimiter); ok && m.LimitsRates() {
		return nil
	}
	cause := "a network of mode " + n.Mode + " has no port on this host that all its frames pass"
	remedy := "leave the rate out, or use a network of mode bridge, or of mode routed for addresses of the parent's subnet"
	giver, gives := n.mode.(heddle.NICGiver)
	sharer, shares := n.mode.(heddle.ParentPlugger)
	switch {
	case gives && giver.PlugsOn(n.Network) != "" && a.plugs.limiter() != nil:
		return nil
	case gives && giver.PlugsOn(n.Network) != "":
		cause += ", and who plugs its NICs in cannot limit them"
	case shares && sharer.ParentsOn(n.Network) != "":
		cause += ", and containers share its NICs: the switch behind them cannot tell one from the other"
		remedy = "leave the rate out, or use a network of mode direct or routed with --opt plug=" + sharer.ParentsOn(n.Network)
	}
	return heddle.Errorf(heddle.BadOption, "limit endpoint", id.String()+" on network "+n.Name, cause, remedy)
}

// SetLimits changes an endpoint's limits while it runs, and returns the endpoint; a dry run returns the commands as well, and changes
// nothing. Attached again with the limits that it has then, it is left as it is.
func (a *Agent) SetLimits(ctx context.Context, id heddle.EndpointID, change heddle.RateLimitChange, dryRun bool) (e heddle.Endpoint, lines []string, err error) {
	if err := id.Check(); err != nil {
		return e, nil, err
	}
	if err := ctx.Err(); err != nil {
		return e, nil, heddle.Wrap(heddle.Waited, "limit endpoint", id.String(), err, "call again")
	}
	if !a.ready.Load() {
		return e, nil, heddle.Errorf(heddle.Stopping, "limit endpoint", id.String(), "", "call again when the agent is back")
	}
	defer a.endpointLocks.Lock(id)()
	old, known := a.records.get(id)
	if !known || a.records.pendingOf(id) == intentDetach {
		return e, nil, noEndpoint(id)
	}
	n, err := a.networks.ofEndpoint(old.Endpoint)
	if err != nil {
		return e, nil, err
	}
	if old.plugged() != nil {
		return a.setPluggedLimits(ctx, n, old, change, dryRun)
	}
	next, err := a.limitedTo(n, old, change)
	if err != nil {
		return e, nil, err
	}
	if dryRun {
		others := func(key string) bool { return a.wanted.plansFor(key) > 1 }
		return next.withPort(), commands.Change(old.Plan.Host, next.Plan.Host, others), nil
	}
	if next.Endpoint.Limits == old.Endpoint.Limits && next.Request.Limits == old.Request.Limits {
		return old.withPort(), nil, nil
	}
	if err := a.changePlan(old, next); err != nil {
		return e, nil, err
	}
	a.networks.endpointEvent(events.Updated, next.Endpoint)
	return next.withPort(), nil, nil
}

// limitedTo is a record with other limits, and what its plan has for them.
func (a *Agent) limitedTo(n *network, r record, change heddle.RateLimitChange) (record, error) {
	asked := change.Apply(r.Request.Limits)
	if err := a.checkLimits(n, r.Endpoint.ID, asked); err != nil {
		return r, err
	}
	limits, err := asked.Fit(r.Endpoint.ID, r.Endpoint.MTU)
	if err != nil {
		return r, err
	}
	r.Endpoint.Limits, r.Request.Limits = limits, asked
	p, err := n.planFor(a.host.now(), r.Endpoint)
	if err != nil {
		return r, err
	}
	shaper := r.Endpoint.ID.ShaperName()
	concerned := func(o heddle.Object) bool {
		switch o := o.(type) {
		case heddle.Bucket, heddle.Divert, heddle.Program, heddle.Shortcut:
			return true
		case heddle.Link:
			return o.Name == shaper
		}
		return false
	}
	others := func(o heddle.Object) bool { return !concerned(o) }
	r.Plan.Host = heddle.Append(r.Plan.Host.Filter(others), p.Host.Filter(concerned))
	return r, nil
}

// changePlan records another plan for the host's part of an endpoint, and brings the kernel in line with it: what is new is made before what
// goes is removed. If that fails, all is as it was.
func (a *Agent) changePlan(old, next record) error {
	a.endpointLocks.mustHold(old.Endpoint.ID)
	defer a.activity.begin()()
	if err := a.trip.step("ledger limits"); err != nil {
		return err
	}
	if err := a.ledger.putRecord(next); err != nil {
		return err
	}
	a.records.replace(old, next)
	err := a.turn(old, next)
	if err == nil {
		return nil
	}
	a.records.replace(next, old)
	return errors.Join(err, a.ledger.putRecord(old), a.turn(next, old))
}

// turn makes what the second plan has and the first has not, and removes what it is the other way round.
func (a *Agent) turn(from, to record) error {
	add, gone := heddle.Delta(from.Plan.Host, to.Plan.Host)
	if _, err := a.kernel.Apply(heddle.Plan{Host: add}, nil); err != nil {
		return err
	}
	return a.kernel.Remove(heddle.Plan{Host: gone}, nil, a.wanted.has)
}
