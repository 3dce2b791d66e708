package agent

import (
	"context"
	"errors"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
)

// Label changes an endpoint's labels, and returns the endpoint. Attached again with the labels that it has then, it is left as it is.
func (a *Agent) Label(ctx context.Context, id heddle.EndpointID, change heddle.LabelChange) (heddle.Endpoint, error) {
	if err := id.Check(); err != nil {
		return heddle.Endpoint{}, err
	}
	if err := ctx.Err(); err != nil {
		return heddle.Endpoint{}, heddle.Wrap(heddle.Waited, "label endpoint", id.String(), err, "call again")
	}
	if !a.ready.Load() {
		return heddle.Endpoint{}, heddle.Errorf(heddle.Stopping, "label endpoint", id.String(), "", "call again when the agent is back")
	}
	defer a.endpointLocks.Lock(id)()
	old, known := a.records.get(id)
	if !known || a.records.pendingOf(id) == intentDetach {
		return heddle.Endpoint{}, noEndpoint(id)
	}
	labels := change.Apply(old.Endpoint.Labels)
	if err := heddle.CheckLabels("endpoint "+id.String(), labels); err != nil {
		return heddle.Endpoint{}, err
	}
	if heddle.LabelText(labels) == heddle.LabelText(old.Endpoint.Labels) {
		return old.withPort(), nil
	}
	next := old
	next.Endpoint.Labels, next.Request.Labels = labels, labels
	n, err := a.networks.ofEndpoint(old.Endpoint)
	if err == nil {
		err = a.policies.accepts("label", n, next.Endpoint)
	}
	if err != nil {
		return heddle.Endpoint{}, err
	}
	if err := a.trip.step("ledger labels"); err != nil {
		return heddle.Endpoint{}, err
	}
	if err := a.ledger.putRecord(next); err != nil {
		return heddle.Endpoint{}, err
	}
	a.records.put(next)
	if err := a.policies.refresh(); err != nil {
		a.records.put(old)
		a.havips.refresh() // another's may have seen the labels meanwhile
		return heddle.Endpoint{}, errors.Join(err, a.ledger.putRecord(old))
	}
	a.havips.refresh()
	if next, err = a.fitGuard(n, next); err != nil {
		return heddle.Endpoint{}, err
	}
	a.networks.endpointEvent(events.Updated, next.Endpoint)
	return next.withPort(), nil
}
