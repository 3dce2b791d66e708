package agent

import (
	"context"
	"errors"
	"net/netip"
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
		e, err = a.leaseByDHCP(ctx, n, e, req.IPs)
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
	case len(req.IPs) > 0 && n.plugsOn() != "":
		cause, remedy = "the DHCP server of the LAN behind the NIC chooses the address", "leave --ip out, or use a network without --opt addresses, on which the NIC's provider gives the address that is asked for"
	case len(req.IPs) > 0 && !req.Handover:
		cause, remedy = "the DHCP server of the LAN chooses the address", "leave --ip out, and reserve an address for the container's MAC address (--mac) at the server"
	case len(req.Ports) > 0:
		cause, remedy = "a container on the LAN has all its ports at its own address", "leave --publish out"
	case req.Handover && len(req.IPs) != 1:
		cause, remedy = "the container's engine gives it its address, and was not told by the agent which one the LAN's DHCP server leases", "create Docker's network with --ipam-driver null, and start the container again"
	case req.DryRun:
		cause, remedy = "what the address will be is known when a DHCP server has answered, and a dry run asks none", "leave --dry-run out"
	default:
		return nil
	}
	return heddle.Errorf(heddle.BadOption, "attach endpoint", req.ID.String()+" to network "+n.Name, cause, remedy)
}

// leaseByDHCP gets an endpoint a lease, and returns the endpoint with it. want is empty, or the one address that the
// lease has to be of: that of the lease which the endpoint has already (LeaseAhead).
func (a *Agent) leaseByDHCP(ctx context.Context, n *network, e heddle.Endpoint, want []netip.Addr) (heddle.Endpoint, error) {
	const op = "get an address by DHCP for endpoint"
	if err := a.trip.step("lease by DHCP"); err != nil {
		return e, err
	}
	lan := n.lanOf(e)
	asking, answered := context.WithTimeoutCause(ctx, askLANTime, errors.New("no DHCP server has answered on "+lan+" in "+askLANTime.String()))
	defer answered()
	lease, err := a.dhcp.take(asking, n, e, want)
	if err == nil && len(want) > 0 && lease.Address.Addr() != want[0] {
		return e, heddle.Errorf(heddle.NoLease, op, e.ID.String(), "the container's engine was told "+want[0].String()+", and the server on "+lan+" leases "+lease.Address.Addr().String()+" now",
			"start the container again")
	}
	if err == nil {
		e = e.WithDHCP(lease)
		if lease.MTU >= heddle.IPv4.LeastMTU() && e.NIC == nil { // a NIC keeps its own
			e.MTU = min(e.MTU, lease.MTU)
		}
		if six := lease.IPv6; six != nil && six.MTU >= heddle.IPv6.LeastMTU() {
			e.MTU = min(e.MTU, six.MTU)
		}
		return e, nil
	}
	if ctx.Err() != nil {
		return e, heddle.Wrap(heddle.Waited, op, e.ID.String(), ctx.Err(), "attach it again")
	}
	switch { // err says why the LAN could not be asked, if it could not
	case lease.Trouble != "":
		err = errors.New("on " + lan + ": " + lease.Trouble)
	case errors.Is(err, context.DeadlineExceeded):
		err = context.Cause(asking)
	}
	instead := "create the network with --subnet instead"
	if n.plugsOn() != "" {
		instead = "create the network without --opt addresses: the NICs come with addresses"
	}
	return e, heddle.Wrap(heddle.NoLease, op, e.ID.String(), err, "look whether a DHCP server there has addresses free, and attach again; or "+instead)
}

// lanOf names the LAN whose server is asked for an endpoint.
func (n *network) lanOf(e heddle.Endpoint) string {
	switch on := n.plugsOn(); {
	case on != "":
		return "network " + on + " of the NIC's provider"
	case e.NIC != nil:
		return e.NIC.Name
	}
	return n.Parent
}
