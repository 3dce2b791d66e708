package agent

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// Assign gives the interface of a virtual machine further addresses, until it has at least that many sets of them: all, or none. The first set that is
// new has the addresses ips, at most one of each family. It returns the endpoint.
func (a *Agent) Assign(ctx context.Context, id heddle.EndpointID, sets int, ips ...netip.Addr) (heddle.Endpoint, error) {
	const op = "assign addresses to endpoint"
	if sets < 0 || sets > heddle.MaxFurther {
		return heddle.Endpoint{}, heddle.Errorf(heddle.BadArgument, op, id.String(), fmt.Sprintf("%d is no number of sets of addresses", sets), fmt.Sprintf("give 0 to %d", heddle.MaxFurther))
	}
	return a.changeFurther(ctx, op, id, func(n *network, e *heddle.Endpoint) error {
		e.Further = slices.Clone(e.Further)
		for len(e.Further) < sets {
			number := freeNumber(e.Further)
			addrs, err := n.pool.Take(id.FurtherID(number), ips)
			if err != nil {
				return err
			}
			ips = nil
			e.Further = append(e.Further, heddle.AddressSet{Number: number, Addrs: addrs})
		}
		return nil
	})
}

// Unassign takes a set of further addresses, named by one of them, from the interface of a virtual machine. One that is not there is no
// error. The addresses go to quarantine.
func (a *Agent) Unassign(ctx context.Context, id heddle.EndpointID, addr netip.Addr) (heddle.Endpoint, error) {
	return a.changeFurther(ctx, "unassign address of endpoint", id, func(_ *network, e *heddle.Endpoint) error {
		e.Further = slices.DeleteFunc(slices.Clone(e.Further), func(s heddle.AddressSet) bool { return s.Has(addr) })
		return nil
	})
}

// freeNumber is the lowest number that no set has.
func freeNumber(all []heddle.AddressSet) int {
	for number := 1; ; number++ {
		if !slices.ContainsFunc(all, func(s heddle.AddressSet) bool { return s.Number == number }) {
			return number
		}
	}
}

// changeFurther changes the further addresses of an endpoint, record first. If the agent dies meanwhile, the next start finishes this.
func (a *Agent) changeFurther(ctx context.Context, op string, id heddle.EndpointID, change func(*network, *heddle.Endpoint) error) (heddle.Endpoint, error) {
	if err := ctx.Err(); err != nil {
		return heddle.Endpoint{}, heddle.Wrap(heddle.Waited, op, id.String(), err, "call again")
	}
	if !a.ready.Load() {
		return heddle.Endpoint{}, heddle.Errorf(heddle.Stopping, op, id.String(), "", "call again when the agent is back")
	}
	defer a.endpointLocks.Lock(id)()
	defer a.activity.begin()()
	old, known := a.records.get(id)
	if !known || a.records.pendingOf(id) != "" || a.removals.has(id) {
		return heddle.Endpoint{}, noEndpoint(id)
	}
	n, err := a.networks.ofEndpoint(old.Endpoint)
	switch {
	case err != nil:
		return heddle.Endpoint{}, err
	case !old.Endpoint.TAP:
		return heddle.Endpoint{}, heddle.Errorf(heddle.BadOption, op, id.String(), "a container has the interface, and one address of each family", "name the port of a virtual machine")
	case n.Shared && a.opt.Cluster != nil:
		return heddle.Endpoint{}, heddle.Errorf(heddle.BadOption, op, id.String(), "hosts share network "+n.Name, "use a network of this host alone")
	}
	next := old
	err = change(n, &next.Endpoint)
	if err == nil && len(next.Endpoint.Further) == len(old.Endpoint.Further) {
		return old.withPort(), nil
	}
	wanted := next.Endpoint
	if err == nil {
		a.flows.waitForgotten(wanted)
		next, err = a.replaceRecord(n, old, next)
	}
	if err != nil {
		a.giveFurther(n, wanted, old.Endpoint)
		return heddle.Endpoint{}, err
	}
	if err := a.policies.refresh(); err != nil {
		return heddle.Endpoint{}, err
	}
	a.endFurther(n, old.Endpoint, next.Endpoint)
	return next.withPort(), nil
}

// endFurther ends the sets that an endpoint has had and does not keep: no connection of theirs is left when another one gets an address.
func (a *Agent) endFurther(n *network, has, keeps heddle.Endpoint) {
	for _, set := range setsGone(has, keeps) {
		for _, p := range set.Addrs {
			a.flows.forgetAddresses(p.Addr())
		}
		if err := a.ledger.noteFreed(n.ID, set.Addrs, time.Now()); err != nil {
			a.log.Warn("freed addresses are not recorded; an agent that starts may give them again at once", "endpoint", has.ID, "error", err)
		}
	}
	a.giveFurther(n, has, keeps)
}

// giveFurther ends the leases of the sets that an endpoint has and does not keep.
func (a *Agent) giveFurther(n *network, has, keeps heddle.Endpoint) {
	for _, s := range setsGone(has, keeps) {
		a.blocks.freeAddresses(n, has.ID.FurtherID(s.Number))
	}
}

// setsGone are the sets that an endpoint has and does not keep.
func setsGone(has, keeps heddle.Endpoint) []heddle.AddressSet {
	return slices.DeleteFunc(slices.Clone(has.Further), func(s heddle.AddressSet) bool {
		return slices.ContainsFunc(keeps.Further, func(k heddle.AddressSet) bool { return k.Number == s.Number })
	})
}
