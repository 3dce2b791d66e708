package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/firewall"
)

// Publish replaces all published ports of an existing endpoint. An empty list removes them. Where
// the host's port is left open, a free one is chosen. After an error the endpoint has the ports that
// it had before.
func (a *Agent) Publish(ctx context.Context, id heddle.EndpointID,
	ports []heddle.PortMapping) (heddle.Endpoint, error) {
	if !a.ready.Load() {
		return heddle.Endpoint{}, heddle.Errorf(heddle.Stopping, "publish ports of endpoint", id.String(), "",
			"call again when the agent is back")
	}
	if err := ctx.Err(); err != nil {
		return heddle.Endpoint{}, heddle.Wrap(heddle.Waited, "publish ports of endpoint", id.String(), err,
			"call again")
	}
	if err := checkPortCount(id, ports); err != nil {
		return heddle.Endpoint{}, err
	}
	defer a.endpointLocks.Lock(id)()
	defer a.activity.begin()()
	r, known := a.records.get(id)
	if !known || a.removals.has(id) {
		return heddle.Endpoint{}, noEndpoint(id)
	}
	n, err := a.networks.ofEndpoint(r.Endpoint)
	if err != nil {
		return heddle.Endpoint{}, err
	}
	if samePorts(r.Endpoint.Ports, ports) {
		return r.withPort(), nil
	}
	req := r.Request
	req.Ports = slices.DeleteFunc(slices.Clone(ports), func(p heddle.PortMapping) bool { return slices.Contains(r.Endpoint.Ports, p) })
	err = checkMappings(id, ports)
	if err == nil {
		err = checkPorts(n, req, a.kernel.Listen)
	}
	next := r
	if err == nil {
		next.Endpoint.Ports, err = a.ports.replace(id, r.Endpoint.Ports, ports)
	}
	if err != nil {
		return heddle.Endpoint{}, err
	}
	chosen := next.Endpoint.Ports
	next.Request.Ports = ports
	if next, err = a.replaceRecord(n, r, next); err != nil {
		_, back := a.ports.replace(id, chosen, r.Endpoint.Ports)
		return heddle.Endpoint{}, errors.Join(err, back)
	}
	a.flows.forgetFlows(r.Endpoint, next.Endpoint)
	return next.withPort(), nil
}

// samePorts reports whether an endpoint has exactly the ports asked for, in any order.
func samePorts(has, asked []heddle.PortMapping) bool {
	left := slices.SortedFunc(slices.Values(has), func(p, q heddle.PortMapping) int { return cmp.Compare(p.HostPort, q.HostPort) })
	for _, i := range byLastPort(asked) {
		at := slices.IndexFunc(left, asked[i].Admits)
		if at < 0 {
			return false
		}
		left = slices.Delete(left, at, at+1)
	}
	return len(left) == 0
}

// replaceRecord replaces an endpoint's record by the next one, and brings the kernel in line with it.
// If the agent dies meanwhile, the next start finishes this.
func (a *Agent) replaceRecord(n *network, old, next record) (record, error) {
	a.endpointLocks.mustHold(next.Endpoint.ID)
	var err error
	if next.Plan, err = n.planFor(a.host.now(), next.Endpoint); err != nil {
		return old, err
	}
	if err := a.trip.step("ledger ports"); err != nil {
		return old, err
	}
	if err := a.ledger.putRecord(next); err != nil {
		return old, err
	}
	a.records.replace(old, next)
	add, gone := heddle.Delta(old.Plan.Host, next.Plan.Host)
	defer a.linkLocks.lockShared(record{Endpoint: next.Endpoint,
		Plan: heddle.Plan{Host: heddle.Append(old.Plan.Host, next.Plan.Host)}})()
	if _, err = a.kernel.Apply(heddle.Plan{Host: add}, nil); err == nil {
		err = a.kernel.Remove(heddle.Plan{Host: gone}, nil, a.wanted.has)
	}
	if err != nil {
		a.records.replace(next, old)
		return old, errors.Join(err, a.ledger.putRecord(old),
			a.kernel.Remove(heddle.Plan{Host: add}, nil, a.wanted.has))
	}
	a.networks.endpointEvent(events.Updated, next.Endpoint)
	return next, nil
}

// upToDate returns the record with all objects that this version wants for the endpoint's guard
// and published ports. A record of an older agent lacks some.
func (a *Agent) upToDate(r record) record {
	n, err := a.networks.ofEndpoint(r.Endpoint)
	if err != nil {
		return r
	}
	now, err := n.planFor(a.host.now(), r.Endpoint)
	if err != nil {
		return r
	}
	add, _ := heddle.Delta(r.Plan.Host, now.Host)
	r.Plan.Host = heddle.Append(r.Plan.Host, add.Filter(func(o heddle.Object) bool {
		switch o := o.(type) {
		case heddle.Sysctl:
			_, is := o.IsLoopbackWay()
			return is
		case heddle.Element:
			return o.Set == firewall.SetTaken || o.Set == firewall.SetQuoted4 || o.Set == firewall.SetQuoted6
		}
		return false
	}))
	return r
}
