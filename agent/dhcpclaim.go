package agent

import (
	"context"
	"errors"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// askLANTime limits how long an attach waits for a DHCP server.
const askLANTime = 10 * time.Second

// claimByDHCP is claim for a network whose addresses come from the LAN's DHCP server. e is the endpoint
// as far as the request describes it.
func (a *Agent) claimByDHCP(ctx context.Context, n *network, req heddle.AttachRequest, pod kernel.Pod,
	e heddle.Endpoint) (heddle.Endpoint, error) {
	if err := checkByDHCP(n, req); err != nil {
		return e, err
	}
	var err error
	if e.MAC, err = n.identities.takeMAC(n, a.host.now(), req); err != nil {
		return e, err
	}
	e.Slot, e.MTU = n.identities.takeSlot(), n.mtu(a.host.now())
	a.forgetStaleDefault(pod)
	if _, err = n.planFor(a.host.now(), e); err == nil { // what cannot be planned needs no address
		e, err = a.leaseByDHCP(ctx, n, e)
	}
	leased := n.leasedTo(e)
	if err == nil {
		err = checkDefault(leased, req, nil)
	}
	if err != nil {
		a.dhcp.end(e.ID)
		n.identities.free(e)
		return e, err
	}
	e.DefaultRoute = a.defaults.claimFor(leased, req, pod, nil)
	return e, nil
}

// checkByDHCP refuses what cannot be had with an address that a DHCP server chooses.
func checkByDHCP(n *network, req heddle.AttachRequest) error {
	cause, remedy := "", ""
	switch {
	case len(req.IPs) > 0:
		cause, remedy = "the DHCP server of the LAN chooses the address", "leave --ip out, and reserve an address for the container's MAC address (--mac) at the server"
	case len(req.Ports) > 0:
		cause, remedy = "a container on the LAN has all its ports at its own address", "leave --publish out"
	case req.Handover:
		cause, remedy = "the container's engine gives it its address, and would not follow the lease", "attach the container itself ('heddle attach'), or use a network with a subnet"
	case req.DryRun:
		cause, remedy = "what the address will be is known when a DHCP server has answered, and a dry run asks none", "leave --dry-run out"
	default:
		return nil
	}
	return heddle.Errorf(heddle.BadOption, "attach endpoint", req.ID.String()+" to network "+n.Name, cause, remedy)
}

// leaseByDHCP gets an endpoint a lease, and returns the endpoint with it.
func (a *Agent) leaseByDHCP(ctx context.Context, n *network, e heddle.Endpoint) (heddle.Endpoint, error) {
	if err := a.trip.step("lease by DHCP"); err != nil {
		return e, err
	}
	asking, answered := context.WithTimeoutCause(ctx, askLANTime, errors.New("no DHCP server has answered on "+n.Parent+" in "+askLANTime.String()))
	defer answered()
	lease, err := a.dhcp.acquire(asking, n, e)
	if err == nil {
		e = e.WithDHCP(lease)
		if lease.MTU >= heddle.IPv4.LeastMTU() {
			e.MTU = min(e.MTU, lease.MTU)
		}
		if six := lease.IPv6; six != nil && six.MTU >= heddle.IPv6.LeastMTU() {
			e.MTU = min(e.MTU, six.MTU)
		}
		return e, nil
	}
	const op = "get an address by DHCP for endpoint"
	if ctx.Err() != nil {
		return e, heddle.Wrap(heddle.Waited, op, e.ID.String(), ctx.Err(), "attach it again")
	}
	switch { // err says why the LAN could not be asked, if it could not
	case lease.Trouble != "":
		err = errors.New("on " + n.Parent + ": " + lease.Trouble)
	case errors.Is(err, context.DeadlineExceeded):
		err = context.Cause(asking)
	}
	return e, heddle.Wrap(heddle.NoLease, op, e.ID.String(), err,
		"look whether a DHCP server on the LAN of "+n.Parent+" has addresses free, and attach again; or create the network with --subnet instead")
}
