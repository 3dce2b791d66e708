package agent

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// leasedAddresses returns the wanted addresses that are leased, and whether these are all.
func (n *network) leasedAddresses(ips []netip.Addr) (all []netip.Prefix, is bool) {
	for _, s := range n.Subnets {
		for _, ip := range ips {
			if holder, held := n.pool.Holder(ip); held && s.Contains(ip) && holder == leaseID(ip) {
				all = append(all, netip.PrefixFrom(ip, s.Bits()))
			}
		}
	}
	return all, len(ips) > 0 && len(all) == len(ips)
}

// claimLeased takes over, for an endpoint, the addresses that were leased for it. If another
// endpoint still has them but its container is gone, which its engine could not report,
// claimLeased removes that one.
func (a *Agent) claimLeased(n *network, req heddle.AttachRequest) (addrs []netip.Prefix, is bool, err error) {
	if !req.Handover || req.LinkOnly { // who moves a link alone has leased nothing
		return nil, false, nil
	}
	if addrs, is = n.leasedAddresses(req.IPs); !is {
		return nil, false, nil
	}
	taken := func(e heddle.Endpoint) int {
		return slices.IndexFunc(e.Addrs, func(p netip.Prefix) bool { return slices.Contains(addrs, p) })
	}
	for _, r := range a.records.filter(func(r record, _ string) bool {
		return r.Endpoint.Network == n.ID && r.Endpoint.ID != req.ID && taken(r.Endpoint) >= 0
	}) {
		if e := r.Endpoint; !a.makeRoomFor(e, req) {
			return nil, true, heddle.Errorf(heddle.AddressTaken, "lease address",
				e.Addrs[taken(e)].Addr().String()+" to endpoint "+req.ID.String(),
				"endpoint "+e.ID.String()+" has the address",
				"detach that endpoint first, or choose another address")
		}
	}
	return addrs, true, nil
}

// makeRoomFor removes an endpoint whose container is gone, for another one that wants its
// addresses. That one's lock is held; it is not recorded yet, so nobody who holds the first one's
// lock waits for it.
func (a *Agent) makeRoomFor(e heddle.Endpoint, to heddle.AttachRequest) bool {
	a.endpointLocks.mustHold(to.ID)
	if to.DryRun {
		return false
	}
	r, gone, err := a.removeIf(e.ID, a.isGone, a.endpointLocks.LockAnother)
	if err != nil {
		a.log.Error("an endpoint whose container is gone stays", "endpoint", e.ID, "error", err)
		return false
	}
	if gone {
		a.log.Info("container is gone, and another one wants its addresses; its endpoint is removed",
			"endpoint", e.ID, "for", to.ID, "addresses", e.Addrs)
	}
	if gone && e.DefaultRoute {
		a.finished.Go(func() { a.defaults.pass(r.Inode) })
	}
	return gone
}

// restoreLeases puts the leases on a network's subnets into its pool. The pool is new.
func (k *reservations) restoreLeases(n *network) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.leases {
		p, err := poolByID(l.Pool)
		if err != nil || !slices.Contains(n.Subnets, p.Subnet) || n.ownsAddress(l.Addr.Addr()) {
			continue
		}
		if err := n.pool.Restore(leaseID(l.Addr.Addr()), []netip.Prefix{l.Addr}); err != nil {
			k.log.Warn("a lease does not fit its network", "address", l.Addr, "network", n.Name, "error", err)
		}
	}
}

// holdsLeased reports whether an endpoint that is handed over has leased addresses.
func (n *network) holdsLeased(e heddle.Endpoint) bool {
	var ips []netip.Addr
	for _, p := range e.Addrs {
		ips = append(ips, p.Addr())
	}
	_, is := n.leasedAddresses(ips)
	return e.Handover && is
}
