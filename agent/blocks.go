package agent

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/ipam"
)

// blocks are this host's parts of shared networks, of whose addresses it gives out those
// in them. Its lock is held whenever that changes, and whenever an address is taken, so
// that no address is taken from a block that goes. It answers other hosts, too, that ask
// for addresses (cluster.Lender).
type blocks struct {
	cluster  cluster.API // nil for a host alone
	ledger   *ledger
	log      *slog.Logger
	host     *hostView
	networks *register
	roll     *roll
	ready    *atomic.Bool

	mu mutex[atBlocks]
	// sources are the addresses of shared networks that the host keeps for itself.
	sources []heddle.Pin
	// lent are addresses set aside for other hosts, which the view may not show
	// yet, yielding blocks that are about to be given back.
	lent map[heddle.Pin]bool
	// moving are addresses of endpoints that are about to be sent elsewhere.
	moving   map[heddle.Pin]bool
	yielding map[heddle.Block]bool
	// idle says since when a block has been of no use.
	idle map[heddle.Block]time.Time
}

// ownSources are the addresses of shared networks that the host keeps for itself.
func (bs *blocks) ownSources() []heddle.Pin {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	return slices.Clone(bs.sources)
}

// restoreSource keeps again, at start, an address for the host itself.
func (bs *blocks) restoreSource(p heddle.Pin) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.sources = append(bs.sources, p)
}

// fitNew is fit for a network that is not in the register yet.
func (bs *blocks) fitNew(n *network) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.fitLocked(n, bs.cluster.View())
}

// fit brings the pool of a shared network in line with the blocks that the host
// holds.
func (bs *blocks) fit(n heddle.Network) {
	local := bs.networks.byID(n.ID)
	if local == nil || local.pool == nil {
		return
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.fitLocked(local, bs.cluster.View())
}

func (bs *blocks) fitLocked(n *network, v *cluster.View) {
	blocks := bs.blocksOfLocked(n.ID, v)
	except := map[netip.Addr]string{}
	for _, p := range v.Lent {
		if p.Network == n.ID {
			except[p.Addr] = "another host"
		}
	}
	for p := range bs.lent {
		if p.Network == n.ID {
			except[p.Addr] = "another host"
		}
	}
	for _, p := range bs.sources {
		if p.Network == n.ID {
			except[p.Addr] = heddle.HostItself
		}
	}
	n.pool.SetBlocks(blocks, except)
	if !bs.ready.Load() {
		return // endpoints are not all known yet
	}
	for _, s := range n.Subnets {
		bs.chooseSourceLocked(n, s, blocks)
	}
}

// blocksOfLocked are the blocks that the host holds and keeps.
func (bs *blocks) blocksOfLocked(network string, v *cluster.View) []netip.Prefix {
	return slices.DeleteFunc(v.BlocksOf(network, v.Self.ID), func(p netip.Prefix) bool {
		return bs.yielding[heddle.Block{Network: network, Prefix: p, Host: v.Self.ID}]
	})
}

// chooseSourceLocked keeps one address of the subnet for the host itself: the same as
// long as its block is held.
func (bs *blocks) chooseSourceLocked(n *network, subnet netip.Prefix, blocks []netip.Prefix) {
	inBlocks := func(addr netip.Addr) bool {
		return slices.ContainsFunc(blocks, func(b netip.Prefix) bool { return b.Contains(addr) })
	}
	of := func(p heddle.Pin) bool { return p.Network == n.ID && subnet.Contains(p.Addr) }
	if i := slices.IndexFunc(bs.sources, of); i >= 0 {
		if inBlocks(bs.sources[i].Addr) {
			return
		}
		bs.sources = slices.Delete(slices.Clone(bs.sources), i, i+1)
		bs.noteSource(n.ID, subnet, netip.Addr{})
	}
	for _, b := range blocks {
		if !subnet.Contains(b.Addr()) {
			continue
		}
		for addr := b.Addr(); b.Contains(addr); addr = addr.Next() {
			if n.pool.Lend(addr, heddle.HostItself) == nil {
				bs.sources = append(slices.Clone(bs.sources), heddle.Pin{Network: n.ID, Addr: addr, Host: bs.host.now().Name})
				bs.noteSource(n.ID, subnet, addr)
				return
			}
		}
	}
}

func (bs *blocks) noteSource(network string, subnet netip.Prefix, addr netip.Addr) {
	if err := bs.ledger.putSource(network, heddle.FamilyOf(subnet.Addr()), addr); err != nil {
		bs.log.Warn("the host's own address of a network is not recorded", "network", network, "error", err)
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
func (bs *blocks) takeShared(ctx context.Context, n *network, req heddle.AttachRequest) ([]netip.Prefix, error) {
	take := n.pool.Take
	if req.DryRun {
		take = n.pool.Preview
	}
	return bs.takeOf(ctx, n, n.Subnets, req, func() ([]netip.Prefix, error) { return take(req.ID, req.IPs) })
}

// takeOneShared is takeShared for an address of one subnet, without an endpoint.
func (bs *blocks) takeOneShared(ctx context.Context, n *network, subnet netip.Prefix, addr netip.Addr) (netip.Prefix, error) {
	req := heddle.AttachRequest{ID: leaseID(addr)}
	if addr.IsValid() {
		req.IPs = []netip.Addr{addr}
	}
	got, err := bs.takeOf(ctx, n, []netip.Prefix{subnet}, req, func() ([]netip.Prefix, error) {
		one, err := n.pool.TakeOne(subnet, addr, leaseID)
		return []netip.Prefix{one}, err
	})
	if err != nil {
		return netip.Prefix{}, err
	}
	return got[0], nil
}

// takeOf leases, by take, addresses of the subnets.
func (bs *blocks) takeOf(ctx context.Context, n *network, subnets []netip.Prefix, req heddle.AttachRequest, take func() ([]netip.Prefix, error)) (addrs []netip.Prefix, err error) {
	var refused error // by the cluster
	defer func() {
		if err != nil {
			bs.giveBack(n, req.IPs) // what was borrowed for nothing
		}
	}()
	for range 2 + 2*len(subnets) {
		addrs, missing, err := bs.tryTake(n, subnets, req, refused != nil, take)
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
	return nil, heddle.Errorf(heddle.PoolExhausted, "endpoint "+req.ID.String()+" on network", n.Name, "other hosts were faster each time; try again")
}

// tryTake leases the addresses, or says what is missing for it.
func (bs *blocks) tryTake(n *network, subnets []netip.Prefix, req heddle.AttachRequest, tired bool, take func() ([]netip.Prefix, error)) ([]netip.Prefix, *lack, error) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	v := bs.cluster.View()
	if err := refusesNew(n, v); err != nil {
		return nil, nil, err
	}
	bs.fitLocked(n, v) // what is taken must be this host's by the view that says so
	for _, s := range subnets {
		i := slices.IndexFunc(req.IPs, s.Contains)
		switch {
		case i >= 0 && !bs.ownsLocked(n.ID, req.IPs[i], v):
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

// ownsLocked reports whether an address is this host's to give: in one of its blocks,
// or borrowed.
func (bs *blocks) ownsLocked(network string, addr netip.Addr, v *cluster.View) bool {
	for _, b := range bs.blocksOfLocked(network, v) {
		if b.Contains(addr) {
			return true
		}
	}
	return slices.Contains(v.Pins, heddle.Pin{Network: network, Addr: addr, Host: v.Self.ID})
}

// hasRested reports whether the pool has an address of the subnet that was not
// freed just now.
func hasRested(p *ipam.Pool, subnet netip.Prefix) bool {
	for _, s := range p.Stats() {
		if s.Family.Has(subnet.Addr()) {
			return s.Free > 0
		}
	}
	return false
}

// obtain gets what is missing from the cluster.
func (bs *blocks) obtain(ctx context.Context, n *network, req heddle.AttachRequest, missing lack) error {
	if req.DryRun {
		return heddle.Errorf(heddle.PoolExhausted, "dry run on network", n.Name, "this host would first have to claim addresses of it from the other hosts; a dry run does not")
	}
	if err := storeAway(bs.cluster, "claim addresses of network", n.Name); err != nil {
		return err
	}
	ctx, cancel := waiting(ctx)
	defer cancel()
	block, err := bs.cluster.ClaimBlock(ctx, n.Network, missing.subnet, missing.addr)
	if err == nil {
		bs.mu.Lock() // one that was being given back is this host's again
		delete(bs.yielding, heddle.Block{Network: n.ID, Prefix: block, Host: bs.cluster.View().Self.ID})
		bs.mu.Unlock()
	}
	if err != nil && missing.addr.IsValid() && errors.Is(err, heddle.AddressTaken.Sentinel()) {
		err = bs.cluster.Borrow(ctx, n.ID, missing.addr, req.ID)
	}
	bs.fit(n.Network)
	return err
}
