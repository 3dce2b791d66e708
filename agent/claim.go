package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// claim reserves all that an endpoint needs: addresses, MAC, ports and a slot. It changes memory
// only. release gives everything back. earlier are the ports that the endpoint had in a namespace
// that is gone: what the request leaves open stays as it was if it can.
func (a *Agent) claim(ctx context.Context, n *network, req heddle.AttachRequest, pod kernel.Pod,
	earlier []heddle.PortMapping) (e heddle.Endpoint, err error) {
	giver, givesNICs := n.mode.(heddle.NICGiver)
	if req.MoveFrom != "" && n.plugsOn() == "" {
		return heddle.Endpoint{}, heddle.Errorf(heddle.BadOption, "attach endpoint", req.ID.String()+" to network "+n.Name, "no NICs are plugged in for the network, so none can move to it",
			"leave --move-from out, or use a network of mode direct with --opt plug=NETWORK")
	}
	if givesNICs {
		return a.claimNIC(ctx, giver, n, req, pod)
	}
	e = heddle.Endpoint{ID: req.ID, Network: n.ID, NetworkName: n.Name, Netns: req.Netns, TAP: req.TAP, MultiQueue: req.MultiQueue,
		Handover: req.Handover, LinkOnly: req.LinkOnly, NoFastPath: req.NoFastPath, Labels: req.Labels, Name: req.Name, Aliases: req.Aliases, Created: time.Now().UTC()}
	if !n.pool.Gives() {
		return e, a.checkClaimsNothing(n, req)
	}
	if err := checkNoNIC(n, req); err != nil {
		return e, err
	}
	if n.FromDHCP() {
		return a.claimByDHCP(ctx, n, req, pod, e)
	}
	if err := checkPorts(n, req, a.kernel.Listen); err != nil {
		return e, err
	}
	w, shares := a.plugs.parents.network(n.ID)
	if shares {
		if n, req, err = a.claimParent(ctx, w, n, req, &e); err != nil {
			return e, err
		}
		defer func() {
			if err != nil {
				a.plugs.parents.give(n.ID, req.ID)
			}
		}()
	}
	if err := a.checkLAN(n, req); err != nil {
		return e, err
	}
	if err := checkDefault(n, req, nil); err != nil {
		return e, err
	}
	take := n.pool.Take
	if req.DryRun {
		take = n.pool.Preview
	}
	if n.Shared && a.opt.Cluster != nil {
		take = func(heddle.EndpointID, []netip.Addr) ([]netip.Prefix, error) {
			return a.blocks.leaseShared(ctx, n, req)
		}
	}
	addrs, leased, err := a.claimLeased(n, req)
	if !leased {
		addrs, err = take(req.ID, req.IPs)
	}
	for err == nil && !leased && !req.DryRun && hostHas(a.host.now(), n, addrs) {
		n.pool.Give(req.ID) // the address goes to quarantine, so the next call takes another one
		if err = a.checkLAN(n, req); err == nil {
			addrs, err = take(req.ID, req.IPs)
		}
	}
	if err != nil {
		return e, err
	}
	e.Addrs, e.MTU = addrs, n.mtu(a.host.now())
	if e.Parent != nil {
		e.MTU = min(e.MTU, e.Parent.MTU)
	}
	a.forgetStaleDefault(pod)
	if err := a.claimRest(n, req, pod, earlier, &e); err != nil {
		a.blocks.freeAddresses(n, req.ID)
		return e, err
	}
	return e, nil
}

// claimRest reserves what an endpoint needs besides its addresses, all or nothing. If it fails, it
// has held the ports for a moment: it may have caused the refusal of another request for them.
func (a *Agent) claimRest(n *network, req heddle.AttachRequest, pod kernel.Pod, earlier []heddle.PortMapping,
	e *heddle.Endpoint) (err error) {
	if e.Ports, err = a.ports.reserve(req.ID, req.Ports, earlier); err != nil {
		return err
	}
	if e.MAC, err = n.identities.takeMAC(n, a.host.now(), req); err != nil {
		a.ports.free(req.ID, e.Ports)
		return err
	}
	e.Slot = n.identities.takeSlot()
	e.DefaultRoute = a.defaults.claimFor(n, req, pod, nil)
	return nil
}

// freeAddresses ends an endpoint's lease.
func (bs *blocks) freeAddresses(n *network, id heddle.EndpointID) {
	bs.returnBorrowed(n, n.pool.Give(id))
}

// checkClaimsNothing refuses requests for addresses, MACs, NICs and ports on a network that has none.
func (a *Agent) checkClaimsNothing(n *network, req heddle.AttachRequest) error {
	if len(req.IPs) > 0 || req.MAC != "" || req.NIC != "" || len(req.Ports) > 0 {
		return heddle.Errorf(heddle.BadOption, "attach endpoint", req.ID.String()+" to network "+n.Name,
			"a network of mode "+n.Mode+" has no addresses, MAC addresses, NICs and ports of its own to give",
			"leave --ip, --mac, --nic and --publish out")
	}
	if req.Name != "" || len(req.Aliases) > 0 {
		return heddle.Errorf(heddle.BadOption, "attach endpoint", req.ID.String()+" to network "+n.Name,
			"a network of mode "+n.Mode+" has no addresses that a name could stand for", "leave --name and --alias out")
	}
	return nil
}

// checkLAN refuses, on a parent's LAN, the addresses of the host itself and of its router.
func (a *Agent) checkLAN(n *network, req heddle.AttachRequest) error {
	taken := takenOnLAN(a.host.now(), n)
	for _, addr := range req.IPs {
		if slices.Contains(taken, addr) {
			return heddle.Errorf(heddle.AddressTaken, "lease address", addr.String()+" to endpoint "+req.ID.String(),
				"the host itself or its router has the address", "choose another address, or leave it out")
		}
	}
	return nil
}

// hostHas reports whether, on a parent's LAN, the host or its router now has one of
// the addresses.
func hostHas(h heddle.HostFacts, n *network, addrs []netip.Prefix) bool {
	taken := takenOnLAN(h, n)
	return slices.ContainsFunc(addrs, func(p netip.Prefix) bool { return slices.Contains(taken, p.Addr()) })
}

// takenOnLAN returns which addresses the host and its router now have on a parent's LAN, if the network is on one.
func takenOnLAN(h heddle.HostFacts, n *network) []netip.Addr {
	if _, guest := n.mode.(heddle.LANMode); !guest {
		return nil
	}
	parent, _ := h.Link(n.Parent)
	return append(slices.Clone(parent.Gateways), hostAddresses(n.mode, h, parent)...)
}

// forgetStaleDefault drops the record of who has the namespace's default route if that endpoint is
// not in it: the kernel may use an inode number again.
func (a *Agent) forgetStaleDefault(pod kernel.Pod) {
	if pod == nil {
		return
	}
	holder, recorded := a.defaults.of(pod.Inode())
	r, made := a.records.get(holder)
	if !recorded || made && r.isPodOf(pod) {
		return
	}
	a.defaults.drop(pod.Inode(), holder)
}

// checkPorts refuses ports that cannot be published, and ports on which a program of the host
// listens.
func checkPorts(n *network, req heddle.AttachRequest, listen func(heddle.PortMapping) error) error {
	if n.Internal && len(req.Ports) > 0 {
		return heddle.Errorf(heddle.BadPort, "publish ports on network", n.Name, "the network is internal",
			"leave --publish out, or use a network that is not internal")
	}
	held := heldSockets{req: req}
	for _, p := range req.Ports {
		if p.HostIP.IsValid() && !n.HasFamily(heddle.FamilyOf(p.HostIP)) {
			return heddle.Errorf(heddle.BadPort, "publish port", p.String()+" on network "+n.Name,
				"the network has no addresses of that family",
				"publish on a host address of the network's family, or leave the address out")
		}
		if p.IsOpen() {
			continue // ports.reserve chooses one that is free
		}
		if err := listen(p); err != nil && (!errors.Is(err, unix.EADDRINUSE) || !held.holds(p)) {
			return listenError(p, err)
		}
	}
	return nil
}

// release gives back what claim took. The addresses go to quarantine. After a dry run there is no
// lease to end.
func (a *Agent) release(n *network, e heddle.Endpoint) {
	a.plugs.drop(e)
	if e.Parent != nil {
		a.plugs.parents.give(e.Network, e.ID)
	}
	a.dhcp.end(e.ID)
	a.nics.free(e.ID)
	a.blocks.freeAddresses(n, e.ID)
	a.giveFurther(n, e, heddle.Endpoint{})
	if !n.pool.Gives() && e.NIC == nil {
		return
	}
	a.defaults.forget(e.ID)
	a.ports.free(e.ID, e.Ports)
	n.identities.free(e)
}

// restoreClaims claims again, at start, what a recorded endpoint holds.
func (a *Agent) restoreClaims(n *network, e heddle.Endpoint) error {
	a.nics.note(e)
	a.plugs.restore(e)
	if !n.pool.Gives() && e.NIC == nil {
		return nil
	}
	if !n.holdsLeased(e) {
		if err := n.pool.Restore(e.ID, e.Addrs); err != nil {
			return err
		}
		for _, s := range e.Further {
			if err := n.pool.Restore(e.ID.FurtherID(s.Number), s.Addrs); err != nil {
				return err
			}
		}
		a.blocks.reportLent(n, e)
	}
	if _, err := a.ports.reserve(e.ID, e.Ports, nil); err != nil {
		return err
	}
	n.identities.restore(e)
	if n.FromDHCP() {
		a.dhcp.resume(n, e)
	}
	if pod, err := a.kernel.OpenPod(e.Netns); err == nil {
		if e.DefaultRoute {
			a.defaults.set(pod.Inode(), e.ID)
		}
		pod.Close()
	}
	return nil
}

// saveCursors records where each network's next search for a free address begins.
func (a *Agent) saveCursors() {
	cursors := map[string]map[heddle.Family]netip.Addr{}
	for _, n := range a.networks.copies() {
		cursors[n.ID] = n.pool.Cursor()
	}
	for id, families := range cursors {
		old, _ := a.ledger.cursors(id)
		for family, at := range families {
			if old[family] == at {
				continue
			}
			if err := a.ledger.putCursor(id, family, at); err != nil {
				a.log.Warn("address cursor not written", "network", id, "error", fmt.Sprint(err))
			}
		}
	}
}
