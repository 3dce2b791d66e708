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

// missingAddress is what a host must get from the cluster before an endpoint can have its
// addresses: a certain address, or any address of a subnet.
type missingAddress struct {
	subnet netip.Prefix
	addr   netip.Addr // zero: any
}

// leaseShared leases an endpoint's addresses on a shared network. It claims or borrows what this
// host does not hold. If it cannot get another block, it takes addresses that were freed a moment
// ago.
func (bs *blocks) leaseShared(ctx context.Context, n *network, req heddle.AttachRequest) ([]netip.Prefix, error) {
	take := n.pool.Take
	if req.DryRun {
		take = n.pool.Preview
	}
	return bs.leaseFrom(ctx, n, n.Subnets, req, func() ([]netip.Prefix, error) { return take(req.ID, req.IPs) })
}

// leaseOneShared is leaseShared for one address of one subnet, without an endpoint.
func (bs *blocks) leaseOneShared(ctx context.Context, n *network, subnet netip.Prefix,
	addr netip.Addr) (netip.Prefix, error) {
	req := heddle.AttachRequest{ID: leaseID(addr)}
	if addr.IsValid() {
		req.IPs = []netip.Addr{addr}
	}
	got, err := bs.leaseFrom(ctx, n, []netip.Prefix{subnet}, req, func() ([]netip.Prefix, error) {
		one, err := n.pool.TakeOne(subnet, addr, leaseID)
		return []netip.Prefix{one}, err
	})
	if err != nil {
		return netip.Prefix{}, err
	}
	return got[0], nil
}

// leaseFrom leases addresses of the subnets by calling take.
func (bs *blocks) leaseFrom(ctx context.Context, n *network, subnets []netip.Prefix, req heddle.AttachRequest,
	take func() ([]netip.Prefix, error)) (addrs []netip.Prefix, err error) {
	var refused error // by the cluster
	defer func() {
		if err != nil {
			bs.returnBorrowed(n, req.IPs) // addresses that were borrowed are not used
		}
	}()
	for range 2 + 2*len(subnets) {
		addrs, missing, err := bs.tryLease(n, subnets, req, refused != nil, take)
		switch {
		case missing == nil && err != nil && refused != nil:
			return nil, refused
		case missing == nil:
			return addrs, err
		}
		if err := bs.obtain(ctx, n, req, *missing); err != nil {
			if missing.addr.IsValid() {
				return nil, err
			}
			refused = err
		}
	}
	return nil, heddle.Errorf(heddle.PoolExhausted, "attach endpoint", req.ID.String()+" to network "+n.Name,
		"other hosts took the free addresses first", "attach again")
}

// tryLease leases the addresses, or returns which one is missing.
func (bs *blocks) tryLease(n *network, subnets []netip.Prefix, req heddle.AttachRequest, tired bool,
	take func() ([]netip.Prefix, error)) ([]netip.Prefix, *missingAddress, error) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	v := bs.cluster.View()
	if err := checkAcceptsNew(n, v); err != nil {
		return nil, nil, err
	}
	bs.fitPoolLocked(n, v) // the pool and the checks below must use the same view
	for _, s := range subnets {
		i := slices.IndexFunc(req.IPs, s.Contains)
		switch {
		case i >= 0 && !bs.ownsLocked(n.ID, req.IPs[i], v):
			return nil, &missingAddress{s, req.IPs[i]}, nil
		case i < 0 && !tired && !hasRestedAddress(n.pool, s):
			return nil, &missingAddress{subnet: s}, nil
		}
	}
	addrs, err := take()
	return addrs, nil, err
}

func checkAcceptsNew(n *network, v *cluster.View) error {
	if v.Removed {
		return cluster.RemovedError(v.Self.Name)
	}
	for _, m := range v.Networks {
		if m.ID == n.ID && m.Deleting {
			return heddle.Errorf(heddle.NetworkLeaving, "lease addresses of network", n.Name, "",
				"wait until the network is gone, and create it again")
		}
	}
	return nil
}

// ownsLocked reports whether this host may give out an address: it is in one of the
// host's blocks, or borrowed.
func (bs *blocks) ownsLocked(network string, addr netip.Addr, v *cluster.View) bool {
	for _, b := range bs.blocksOfLocked(network, v) {
		if b.Contains(addr) {
			return true
		}
	}
	return slices.Contains(v.Pins, heddle.Pin{Network: network, Addr: addr, Host: v.Self.ID})
}

// hasRestedAddress reports whether the pool has a free address of the subnet that was not freed
// just now.
func hasRestedAddress(p ipam.Source, subnet netip.Prefix) bool {
	for _, s := range p.Stats() {
		if s.Family.Has(subnet.Addr()) {
			return s.Free > 0
		}
	}
	return false
}

// obtain gets the missing address, or a block with it, from the cluster.
func (bs *blocks) obtain(ctx context.Context, n *network, req heddle.AttachRequest, missing missingAddress) error {
	if req.DryRun {
		return heddle.Errorf(heddle.PoolExhausted, "attach endpoint", req.ID.String()+" to network "+n.Name,
			"this host has no free address of the network, and a dry run claims none from the cluster",
			"attach without --dry-run")
	}
	if err := checkStoreUp(bs.cluster, "claim addresses of network", n.Name); err != nil {
		return err
	}
	ctx, cancel := withStoreTimeout(ctx)
	defer cancel()
	block, err := bs.cluster.ClaimBlock(ctx, n.Network, missing.subnet, missing.addr)
	if err == nil {
		bs.mu.Lock() // if the block was being given back, the host now keeps it
		delete(bs.yielding, heddle.Block{Network: n.ID, Prefix: block, Host: bs.cluster.View().Self.ID})
		bs.mu.Unlock()
	}
	if err != nil && missing.addr.IsValid() && errors.Is(err, heddle.AddressTaken.Sentinel()) {
		err = bs.cluster.Borrow(ctx, n.ID, missing.addr, req.ID)
	}
	bs.fitPool(n.Network)
	return err
}
