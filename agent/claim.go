package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/mode/parts"
)

// claim reserves all that an endpoint needs for itself: addresses, MAC, ports,
// a slot. It touches memory only; release gives all of it back.
func (a *Agent) claim(ctx context.Context, n *network, req heddle.AttachRequest, pod *kernel.Netns) (heddle.Endpoint, error) {
	if giver, ok := n.mode.(heddle.NICGiver); ok {
		return a.claimNIC(giver, n, req, pod)
	}
	e := heddle.Endpoint{ID: req.ID, Network: n.ID, NetworkName: n.Name, Netns: req.Netns, Ports: req.Ports, Handover: req.Handover, NoFastPath: req.NoFastPath, Labels: req.Labels, Created: time.Now().UTC()}
	if !n.pool.Gives() {
		return e, a.claimNothing(n, req)
	}
	if err := checkPorts(n, req); err != nil {
		return e, err
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
		take = func(heddle.EndpointID, []netip.Addr) ([]netip.Prefix, error) { return a.takeShared(ctx, n, req) }
	}
	addrs, leased, err := a.claimLeased(n, req)
	if !leased {
		addrs, err = take(req.ID, req.IPs)
	}
	for err == nil && !leased && !req.DryRun && a.hostHas(n, addrs) {
		n.pool.Give(req.ID) // to quarantine: the next one is another
		addrs, err = take(req.ID, req.IPs)
	}
	if err != nil {
		return e, err
	}
	e.Addrs, e.MTU = addrs, a.mtu(n)
	a.forgetStaleDefault(pod)
	if err := a.claimRest(n, req, pod, &e); err != nil {
		a.giveAddresses(n, req.ID)
		return e, err
	}
	return e, nil
}

// claimRest reserves what an endpoint needs besides its addresses, all or nothing.
func (a *Agent) claimRest(n *network, req heddle.AttachRequest, pod *kernel.Netns, e *heddle.Endpoint) (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.ports.reserve(req.ID, req.Ports); err != nil {
		return err
	}
	if e.MAC, err = n.takeMAC(a.facts, req); err != nil {
		a.ports.free(req.ID, req.Ports)
		return err
	}
	e.Slot = n.slots.take()
	e.DefaultRoute = a.claimDefault(n, req, pod, nil)
	return nil
}

// giveAddresses ends an endpoint's lease.
func (a *Agent) giveAddresses(n *network, id heddle.EndpointID) {
	a.giveBack(n, n.pool.Give(id))
}

// mtu is that of a container's device on the network, in bytes.
func (a *Agent) mtu(n *network) int {
	if s, ok := n.mode.(heddle.Sizer); ok {
		return s.MTU(a.host(), n.Network)
	}
	return parts.ResolveMTU(a.host(), n.Network)
}

// claimNothing refuses, on a network without addresses, what needs them.
func (a *Agent) claimNothing(n *network, req heddle.AttachRequest) error {
	if len(req.IPs) > 0 || req.MAC != "" || req.NIC != "" || len(req.Ports) > 0 {
		return heddle.Errorf(heddle.BadOption, "endpoint", req.ID.String(), "a network of mode "+n.Mode+" has no addresses, MACs and ports of its own to give")
	}
	return nil
}

// checkLAN refuses, on a parent's LAN, the addresses that the host itself has.
func (a *Agent) checkLAN(n *network, req heddle.AttachRequest) error {
	if _, guest := n.mode.(heddle.Guest); !guest {
		return nil
	}
	h := a.host()
	parent, _ := h.Link(n.Parent)
	for _, addr := range hostAddresses(n.mode, h, parent) {
		if slices.Contains(req.IPs, addr) {
			return heddle.Errorf(heddle.AddressTaken, "address", addr.String()+" on network "+n.Name, "the host itself has it; choose another one")
		}
	}
	return nil
}

// hostHas reports whether, on a parent's LAN, the host or its router has one of
// the addresses by now.
func (a *Agent) hostHas(n *network, addrs []netip.Prefix) bool {
	if _, guest := n.mode.(heddle.Guest); !guest {
		return false
	}
	h := a.host()
	parent, _ := h.Link(n.Parent)
	taken := append(slices.Clone(parent.Gateways), hostAddresses(n.mode, h, parent)...)
	return slices.ContainsFunc(addrs, func(p netip.Prefix) bool { return slices.Contains(taken, p.Addr()) })
}

func (n *network) takeMAC(h heddle.HostFacts, req heddle.AttachRequest) (heddle.MAC, error) {
	if f, ok := n.mode.(heddle.FixedMAC); ok {
		fixed := f.MAC(h, n.Network)
		if fixed != "" && req.MAC != "" && req.MAC != fixed {
			return "", heddle.Errorf(heddle.MACTaken, "MAC", string(req.MAC)+" on network "+n.Name, "its containers have the parent's address "+string(fixed)+"; leave --mac out")
		}
		if fixed != "" {
			return fixed, nil
		}
	}
	if req.MAC != "" && req.MAC == n.GatewayMAC() {
		return "", heddle.Errorf(heddle.MACTaken, "MAC", string(req.MAC)+" of the network's gateway", "choose another one, or leave it out")
	}
	if holder, taken := n.macs[req.MAC]; req.MAC != "" && taken && holder != req.ID {
		return "", heddle.Errorf(heddle.MACTaken, "MAC", string(req.MAC)+" of endpoint "+holder.String(), "choose another one, or leave it out")
	}
	mac := req.MAC
	for salt := 0; mac == ""; salt++ {
		if m := req.ID.DefaultMAC(n.ID, salt); n.macs[m] == (heddle.EndpointID{}) {
			mac = m
		}
	}
	n.macs[mac] = req.ID
	return mac, nil
}

// forgetStaleDefault drops the record of who has the namespace's default route
// if that endpoint is not in it: an inode number may be used again.
func (a *Agent) forgetStaleDefault(pod *kernel.Netns) {
	if pod == nil {
		return
	}
	a.mu.RLock()
	holder, recorded := a.defaults[pod.Inode()]
	r, made := a.endpoints[holder]
	a.mu.RUnlock()
	if !recorded || made && r.isPodOf(pod) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.defaults[pod.Inode()] == holder {
		delete(a.defaults, pod.Inode())
	}
}

// checkPorts refuses what cannot be published, and ports on which a program of
// the host listens.
func checkPorts(n *network, req heddle.AttachRequest) error {
	if n.Internal && len(req.Ports) > 0 {
		return heddle.Errorf(heddle.BadPort, "network", n.Name, "an internal network publishes no ports")
	}
	for _, p := range req.Ports {
		if p.HostIP.IsValid() && !n.HasFamily(heddle.FamilyOf(p.HostIP)) {
			return heddle.Errorf(heddle.BadPort, "network "+n.Name, p.String(), "the network has no addresses of that family")
		}
		if err := portFree(p); errors.Is(err, unix.EADDRNOTAVAIL) {
			return heddle.Wrap(heddle.BadAddress, "publish port", p.String(), err, "name an address of this host")
		} else if err != nil && !heldFor(req.ID.Container, p) {
			return heddle.Wrap(heddle.PortTaken, "publish port", p.String(), err, "choose another host port, or stop the program that listens there")
		}
	}
	return nil
}

// release gives back what claim took; the addresses go to quarantine. After a
// dry run there is no lease to give, and Give does nothing.
func (a *Agent) release(n *network, e heddle.Endpoint) {
	a.giveNIC(e.ID)
	a.giveAddresses(n, e.ID)
	if !n.pool.Gives() && e.NIC == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.defaults, func(_ uint64, id heddle.EndpointID) bool { return id == e.ID })
	a.ports.free(e.ID, e.Ports)
	if n.macs[e.MAC] == e.ID {
		delete(n.macs, e.MAC)
	}
	n.slots.give(e.Slot)
}

// restore claims again, at start, what a recorded endpoint holds.
func (a *Agent) restore(n *network, e heddle.Endpoint) error {
	a.restoreNIC(e)
	if !n.pool.Gives() && e.NIC == nil {
		return nil
	}
	if !n.holdsLeased(e) {
		if err := n.pool.Restore(e.ID, e.Addrs); err != nil {
			return err
		}
		a.noticeLent(n, e)
	}
	if err := a.ports.reserve(e.ID, e.Ports); err != nil {
		return err
	}
	n.macs[e.MAC] = e.ID
	n.slots.mark(e.Slot)
	if pod, err := kernel.OpenNetns(e.Netns); err == nil {
		if e.DefaultRoute {
			a.defaults[pod.Inode()] = e.ID
		}
		pod.Close()
	}
	return nil
}

// saveCursors writes where allocation stands.
func (a *Agent) saveCursors() {
	a.mu.RLock()
	cursors := map[string]map[heddle.Family]netip.Addr{}
	for _, n := range a.networks {
		cursors[n.ID] = n.pool.Cursor()
	}
	a.mu.RUnlock()
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
