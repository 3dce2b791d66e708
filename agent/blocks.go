package agent

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/ipam"
)

// Of a shared network's addresses, this host gives out those of its blocks. The
// lock pools is held whenever that changes, and whenever an address is taken, so
// that no address is taken from a block that goes.

// fit brings the pool of a shared network in line with the blocks that the host
// holds.
func (a *Agent) fit(n heddle.Network) {
	local := a.networkByID(n.ID)
	if local == nil {
		return
	}
	a.pools.Lock()
	defer a.pools.Unlock()
	a.fitLocked(local, a.opt.Cluster.View())
}

func (a *Agent) fitLocked(n *network, v *cluster.View) {
	shared, ok := n.blocks()
	if !ok {
		return
	}
	blocks := a.blocksOf(n.ID, v)
	except := map[netip.Addr]string{}
	for _, p := range v.Lent {
		if p.Network == n.ID {
			except[p.Addr] = "another host"
		}
	}
	for p := range a.lent {
		if p.Network == n.ID {
			except[p.Addr] = "another host"
		}
	}
	for _, p := range a.sources {
		if p.Network == n.ID {
			except[p.Addr] = heddle.HostItself
		}
	}
	shared.SetBlocks(blocks, except)
	if !a.ready.Load() {
		return // endpoints are not all known yet
	}
	for _, s := range n.Subnets {
		a.chooseSource(n.ID, shared, s, blocks)
	}
}

// blocksOf are the blocks that the host holds and keeps.
func (a *Agent) blocksOf(network string, v *cluster.View) []netip.Prefix {
	return slices.DeleteFunc(v.BlocksOf(network, v.Self.ID), func(p netip.Prefix) bool {
		return a.yielding[heddle.Block{Network: network, Prefix: p, Host: v.Self.ID}]
	})
}

// chooseSource keeps one address of the subnet for the host itself: the same as
// long as its block is held.
func (a *Agent) chooseSource(network string, from ipam.Blocks, subnet netip.Prefix, blocks []netip.Prefix) {
	inBlocks := func(addr netip.Addr) bool {
		return slices.ContainsFunc(blocks, func(b netip.Prefix) bool { return b.Contains(addr) })
	}
	of := func(p heddle.Pin) bool { return p.Network == network && subnet.Contains(p.Addr) }
	if i := slices.IndexFunc(a.sources, of); i >= 0 {
		if inBlocks(a.sources[i].Addr) {
			return
		}
		a.sources = slices.Delete(slices.Clone(a.sources), i, i+1)
		a.noteSource(network, subnet, netip.Addr{})
	}
	for _, b := range blocks {
		if !subnet.Contains(b.Addr()) {
			continue
		}
		for addr := b.Addr(); b.Contains(addr); addr = addr.Next() {
			if from.Lend(addr, heddle.HostItself) == nil {
				a.sources = append(slices.Clone(a.sources), heddle.Pin{Network: network, Addr: addr, Host: a.host().Name})
				a.noteSource(network, subnet, addr)
				return
			}
		}
	}
}

func (a *Agent) noteSource(network string, subnet netip.Prefix, addr netip.Addr) {
	if err := a.ledger.putSource(network, heddle.FamilyOf(subnet.Addr()), addr); err != nil {
		a.log.Warn("the host's own address of a network is not recorded", "network", network, "error", err)
	}
}

// lack is what a host must get from the cluster before an endpoint can have its
// addresses: a certain address, or any of a subnet.
type lack struct {
	subnet netip.Prefix
	addr   netip.Addr // zero: any
}

// takeShared leases an endpoint's addresses on a shared network. What this host
// does not hold, it claims or borrows. If it gets no block any more, it falls back
// to addresses that were freed a moment ago.
func (a *Agent) takeShared(ctx context.Context, n *network, req heddle.AttachRequest) ([]netip.Prefix, error) {
	take := n.pool.Take
	if req.DryRun {
		take = n.pool.Preview
	}
	return a.takeOf(ctx, n, n.Subnets, req, func() ([]netip.Prefix, error) { return take(req.ID, req.IPs) })
}

// takeOneShared is takeShared for an address of one subnet, without an endpoint.
func (a *Agent) takeOneShared(ctx context.Context, n *network, subnet netip.Prefix, addr netip.Addr) (netip.Prefix, error) {
	req := heddle.AttachRequest{ID: leaseID(addr)}
	if addr.IsValid() {
		req.IPs = []netip.Addr{addr}
	}
	got, err := a.takeOf(ctx, n, []netip.Prefix{subnet}, req, func() ([]netip.Prefix, error) {
		one, err := n.pool.TakeOne(subnet, addr, leaseID)
		return []netip.Prefix{one}, err
	})
	if err != nil {
		return netip.Prefix{}, err
	}
	return got[0], nil
}

// takeOf leases, by take, addresses of the subnets.
func (a *Agent) takeOf(ctx context.Context, n *network, subnets []netip.Prefix, req heddle.AttachRequest, take func() ([]netip.Prefix, error)) (addrs []netip.Prefix, err error) {
	var refused error // by the cluster
	defer func() {
		if err != nil {
			a.giveBack(n, req.IPs) // what was borrowed for nothing
		}
	}()
	for range 2 + 2*len(subnets) {
		addrs, missing, err := a.tryTake(n, subnets, req, refused != nil, take)
		switch {
		case missing == nil && err != nil && refused != nil:
			return nil, refused
		case missing == nil:
			return addrs, err
		}
		if err := a.obtain(ctx, n, req, *missing); err != nil {
			if missing.addr.IsValid() {
				return nil, err
			}
			refused = err
		}
	}
	return nil, heddle.Errorf(heddle.PoolExhausted, "endpoint "+req.ID.String()+" on network", n.Name, "other hosts were faster each time; try again")
}

// tryTake leases the addresses, or says what is missing for it.
func (a *Agent) tryTake(n *network, subnets []netip.Prefix, req heddle.AttachRequest, tired bool, take func() ([]netip.Prefix, error)) ([]netip.Prefix, *lack, error) {
	a.pools.Lock()
	defer a.pools.Unlock()
	v := a.opt.Cluster.View()
	if err := refusesNew(n, v); err != nil {
		return nil, nil, err
	}
	a.fitLocked(n, v) // what is taken must be this host's by the view that says so
	for _, s := range subnets {
		i := slices.IndexFunc(req.IPs, s.Contains)
		switch {
		case i >= 0 && !a.owns(n.ID, req.IPs[i], v):
			return nil, &lack{s, req.IPs[i]}, nil
		case i < 0 && !tired && !hasRested(n.pool, s):
			return nil, &lack{subnet: s}, nil
		}
	}
	addrs, err := take()
	return addrs, nil, err
}

func refusesNew(n *network, v *cluster.View) error {
	if v.Removed {
		return cluster.RemovedError(v.Self.Name)
	}
	for _, m := range v.Networks {
		if m.ID == n.ID && m.Deleting {
			return heddle.Errorf(heddle.NetworkLeaving, "network", n.Name, "wait until it is gone, and create it again")
		}
	}
	return nil
}

// owns reports whether an address is this host's to give: in one of its blocks,
// or borrowed.
func (a *Agent) owns(network string, addr netip.Addr, v *cluster.View) bool {
	for _, b := range a.blocksOf(network, v) {
		if b.Contains(addr) {
			return true
		}
	}
	return slices.Contains(v.Pins, heddle.Pin{Network: network, Addr: addr, Host: v.Self.ID})
}

// hasRested reports whether the pool has an address of the subnet that was not
// freed just now.
func hasRested(p ipam.Source, subnet netip.Prefix) bool {
	for _, s := range p.Stats() {
		if s.Family.Has(subnet.Addr()) {
			return s.Free > 0
		}
	}
	return false
}

// obtain gets what is missing from the cluster.
func (a *Agent) obtain(ctx context.Context, n *network, req heddle.AttachRequest, missing lack) error {
	if req.DryRun {
		return heddle.Errorf(heddle.PoolExhausted, "dry run on network", n.Name, "this host would first have to claim addresses of it from the other hosts; a dry run does not")
	}
	if err := a.storeAway("claim addresses of network", n.Name); err != nil {
		return err
	}
	ctx, cancel := waiting(ctx)
	defer cancel()
	block, err := a.opt.Cluster.ClaimBlock(ctx, n.Network, missing.subnet, missing.addr)
	if err == nil {
		a.pools.Lock() // one that was being given back is this host's again
		delete(a.yielding, heddle.Block{Network: n.ID, Prefix: block, Host: a.opt.Cluster.View().Self.ID})
		a.pools.Unlock()
	}
	if err != nil && missing.addr.IsValid() && errors.Is(err, heddle.AddressTaken.Sentinel()) {
		err = a.opt.Cluster.Borrow(ctx, n.ID, missing.addr, req.ID)
	}
	a.fit(n.Network)
	return err
}
