package agent

import (
	"context"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// leaseOnNIC gets an endpoint with a NIC its address by DHCP, on the NIC, which is in the container. The attach is under way: an agent
// that is killed meanwhile leaves its intent, and it is undone as a whole. What the lease brings is recorded before it is made.
func (a *Agent) leaseOnNIC(ctx context.Context, r record, pod kernel.Pod, t *task) (record, error) {
	n, err := a.networks.ofEndpoint(r.Endpoint)
	if err != nil || !n.FromDHCP() {
		return r, err
	}
	next := r
	t.waitFor("a DHCP server on " + n.lanOf(r.Endpoint))
	next.Endpoint, err = a.leaseByDHCP(ctx, n, r.Endpoint, nil)
	t.waitFor("the kernel")
	if err != nil {
		return r, err
	}
	leased := n.leasedTo(next.Endpoint)
	if err = checkDefault(leased, r.Request, r.Endpoint.NIC); err != nil {
		return r, err
	}
	a.forgetStaleDefault(pod)
	next.Endpoint.DefaultRoute = a.defaults.claimFor(leased, r.Request, pod, r.Endpoint.NIC)
	if next.Plan, err = n.planFor(a.host.now(), next.Endpoint); err == nil {
		err = checkConflict(next.Endpoint, next.Plan, a.records.inContainer(pod))
	}
	if err == nil {
		err = a.trip.step("ledger lease")
	}
	if err == nil {
		err = a.ledger.putIntent(next, intentAttach)
	}
	if err != nil {
		return r, err
	}
	a.wanted.replaceRecord(r, next)
	a.records.put(next)
	_, err = a.kernel.Apply(heddle.Plan{Pod: next.Plan.Pod}, pod)
	return next, err
}

// releaseOnNIC gives the lease of an endpoint with a NIC back while the NIC is in the container: there is no other way to the LAN. The
// record does not have the lease yet if the attach fails.
func (a *Agent) releaseOnNIC(r record) {
	if r.Endpoint.NIC != nil {
		a.dhcp.end(r.Endpoint.ID)
	}
}

// verifyLease asks at once whether the lease of an endpoint stands whose NIC was away (RFC 2131, 3.7), or for another one: questions to a NIC that
// is not there become rarer and rarer.
func (a *Agent) verifyLease(e heddle.Endpoint) {
	if n, err := a.networks.ofEndpoint(e); err == nil && e.DHCP != nil {
		a.dhcp.resume(n, a.dhcp.shown(e))
	}
}
