package agent

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
)

// SetNames gives an endpoint that is there a name and aliases, in place of those that it has. Its
// request stays as it was: whoever repeats that gets the endpoint, with the names that it has then.
func (a *Agent) SetNames(id heddle.EndpointID, name string, aliases []string) error {
	name, aliases, err := heddle.CheckNames(id.String(), name, aliases)
	if err != nil {
		return err
	}
	if !a.ready.Load() {
		return heddle.Errorf(heddle.Stopping, "name endpoint", id.String(), "", "call again when the agent is back")
	}
	defer a.endpointLocks.Lock(id)()
	r, known := a.records.get(id)
	if !known || a.removals.has(id) || a.records.pendingOf(id) != "" {
		return noEndpoint(id)
	}
	if len(r.Endpoint.Addrs) == 0 && (name != "" || len(aliases) > 0) {
		return heddle.Errorf(heddle.BadOption, "name endpoint", id.String(), "it has no addresses that a name could stand for",
			"attach it to a network of another mode")
	}
	if r.Endpoint.Name == name && slices.Equal(r.Endpoint.Aliases, aliases) {
		return nil
	}
	next := r
	next.Endpoint.Name, next.Endpoint.Aliases = name, aliases
	if err := a.trip.step("ledger names"); err != nil {
		return err
	}
	if err := a.ledger.putRecord(next); err != nil {
		return err
	}
	a.records.put(next)
	a.networks.endpointEvent(events.Updated, next.Endpoint)
	err = a.policies.refresh()
	a.havips.refresh()
	if err != nil {
		return err
	}
	n, err := a.networks.ofEndpoint(next.Endpoint)
	if err == nil {
		_, err = a.fitGuard(n, next)
	}
	return err
}
