package agent

import (
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
)

// claimHAVIP leases the address, and reserves the ports.
func (a *Agent) claimHAVIP(n *network, h *havip.HAVIP, dryRun bool) error {
	if err := checkMappings(h.HolderID(), h.Ports); err != nil {
		return err
	}
	for _, p := range h.Ports {
		if p.IsOpen() || p.HostPortEnd != 0 {
			return heddle.Errorf(heddle.BadPort, "publish port", p.String()+" of HAVIP "+h.Name, "the host's port is left open", "name the host's port: HOST:CONTAINER")
		}
	}
	if err := checkPorts(n, heddle.AttachRequest{Ports: h.Ports}, a.kernel.Listen); err != nil {
		return err
	}
	subnet := n.Subnets[0]
	if h.Address.IsValid() {
		i := slices.IndexFunc(n.Subnets, func(p netip.Prefix) bool { return p.Contains(h.Address) })
		if i < 0 {
			return heddle.Errorf(heddle.OutsidePool, "create HAVIP", h.Name, h.Address.String()+" is in no subnet of network "+n.Name, "choose an address of the network, or leave it out")
		}
		subnet = n.Subnets[i]
	}
	if dryRun {
		return a.previewHAVIP(n, subnet, h)
	}
	leased, err := n.pool.TakeOne(subnet, h.Address, func(netip.Addr) heddle.EndpointID { return h.HolderID() })
	if err != nil {
		return err
	}
	h.Address = leased.Addr()
	if _, err = a.ports.reserve(h.HolderID(), h.Ports, nil); err != nil {
		n.pool.Give(h.HolderID())
	}
	return err
}

// previewHAVIP is claimHAVIP that takes nothing.
func (a *Agent) previewHAVIP(n *network, subnet netip.Prefix, h *havip.HAVIP) error {
	var asked []netip.Addr
	if h.Address.IsValid() {
		asked = append(asked, h.Address)
	}
	free, err := n.pool.Preview(h.HolderID(), asked)
	if err != nil {
		return err
	}
	for _, p := range free {
		if subnet.Contains(p.Addr()) {
			h.Address = p.Addr()
		}
	}
	if _, err := a.ports.reserve(h.HolderID(), h.Ports, nil); err != nil {
		return err
	}
	a.ports.free(h.HolderID(), h.Ports)
	return nil
}

// releaseHAVIP gives back what claimHAVIP took. Nobody gets the address for a while, and no connection to it is left then.
func (a *Agent) releaseHAVIP(n *network, h havip.HAVIP) {
	a.ports.free(h.HolderID(), h.Ports)
	n.pool.Give(h.HolderID())
	a.flows.forgetAddresses(h.Address)
}

// noteHAVIPFreed records that nobody gets the address for a while, should the agent be killed before it is released.
func (a *Agent) noteHAVIPFreed(n *network, h havip.HAVIP) {
	if err := a.ledger.noteFreed(n.ID, []netip.Prefix{netip.PrefixFrom(h.Address, h.Address.BitLen())}, time.Now()); err != nil {
		a.log.Warn("a freed address is not recorded; an agent that starts may give it again at once", "havip", h.Name, "error", err)
	}
}

// restoreHAVIPClaims claims again, at start, what recorded addresses hold, before anybody else can.
func (a *Agent) restoreHAVIPClaims(all havip.All) {
	for _, h := range all {
		n := a.networks.byID(h.Network)
		if n == nil {
			a.log.Error("a HAVIP's network is not in the ledger", "havip", h.Name)
			continue
		}
		err := n.pool.Restore(h.HolderID(), []netip.Prefix{netip.PrefixFrom(h.Address, subnetOf(n, h.Address).Bits())})
		if err == nil {
			_, err = a.ports.reserve(h.HolderID(), h.Ports, nil)
		}
		if err != nil {
			a.log.Error("a HAVIP's address or ports are not claimed", "havip", h.Name, "error", err)
		}
	}
}

func subnetOf(n *network, a netip.Addr) netip.Prefix {
	for _, p := range n.Subnets {
		if p.Contains(a) {
			return p
		}
	}
	return netip.PrefixFrom(a, a.BitLen())
}
