package agent

import (
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/ipam"
)

// blocks are this host's address blocks of shared networks. The host gives out addresses from
// them. The lock is held whenever the blocks change and whenever an address is taken: so no
// address is taken from a block that is being given back. blocks also answers other hosts that ask
// for addresses (cluster.Lender).
type blocks struct {
	cluster  cluster.API // nil without a cluster
	ledger   *ledger
	log      *slog.Logger
	host     *hostView
	networks *register
	records  *records
	ready    *atomic.Bool
	// viewAgain is signalled when a source has changed, which the paths to other hosts name.
	viewAgain chan struct{}

	mu mutex[atBlocks]
	// sources are the addresses of shared networks that the host keeps for itself.
	sources []heddle.Pin
	// lent are addresses set aside for other hosts; the view may not show them yet.
	// yielding are blocks that are about to be given back.
	lent map[heddle.Pin]bool
	// moving are the addresses of endpoints that are being moved to another host.
	moving   map[heddle.Pin]bool
	yielding map[heddle.Block]bool
	// idle says since when a block has been unused.
	idle map[heddle.Block]time.Time
}

// ownSources are the addresses of shared networks that the host keeps for itself.
func (bs *blocks) ownSources() []heddle.Pin {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	return slices.Clone(bs.sources)
}

// restoreSource reserves, at start, an address that the host kept for itself before.
func (bs *blocks) restoreSource(p heddle.Pin) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.sources = append(bs.sources, p)
}

// fitNewPool is fitPool for a network that is not in the register yet.
func (bs *blocks) fitNewPool(n *network) {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.fitPoolLocked(n, bs.cluster.View())
}

// fitPool brings the pool of a shared network in line with the blocks that the host
// holds.
func (bs *blocks) fitPool(n heddle.Network) {
	local := bs.networks.byID(n.ID)
	if local == nil {
		return
	}
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.fitPoolLocked(local, bs.cluster.View())
}

func (bs *blocks) fitPoolLocked(n *network, v *cluster.View) {
	shared, ok := n.blocks()
	if !ok {
		return
	}
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
	shared.SetBlocks(blocks, except)
	if !bs.ready.Load() {
		return // not all endpoints are known yet
	}
	for _, s := range n.Subnets {
		bs.chooseSourceLocked(n.ID, shared, s, blocks)
	}
}

// blocksOfLocked returns the blocks that the host holds and is not giving back.
func (bs *blocks) blocksOfLocked(network string, v *cluster.View) []netip.Prefix {
	return slices.DeleteFunc(v.BlocksOf(network, v.Self.ID), func(p netip.Prefix) bool {
		return bs.yielding[heddle.Block{Network: network, Prefix: p, Host: v.Self.ID}]
	})
}

// chooseSourceLocked keeps one address of the subnet for the host itself. The address
// stays the same as long as the host holds its block.
func (bs *blocks) chooseSourceLocked(network string, from ipam.Blocks, subnet netip.Prefix, blocks []netip.Prefix) {
	inBlocks := func(addr netip.Addr) bool {
		return slices.ContainsFunc(blocks, func(b netip.Prefix) bool { return b.Contains(addr) })
	}
	of := func(p heddle.Pin) bool { return p.Network == network && subnet.Contains(p.Addr) }
	if i := slices.IndexFunc(bs.sources, of); i >= 0 {
		if inBlocks(bs.sources[i].Addr) {
			return
		}
		bs.sources = slices.Delete(slices.Clone(bs.sources), i, i+1)
		bs.noteSource(network, subnet, netip.Addr{})
	}
	for _, b := range blocks {
		if !subnet.Contains(b.Addr()) {
			continue
		}
		for addr := b.Addr(); b.Contains(addr); addr = addr.Next() {
			if from.Lend(addr, heddle.HostItself) == nil {
				bs.sources = append(slices.Clone(bs.sources),
					heddle.Pin{Network: network, Addr: addr, Host: bs.host.now().Name})
				bs.noteSource(network, subnet, addr)
				return
			}
		}
	}
}

// noteSource tells those who have to know that the network's source is another one.
func (bs *blocks) noteSource(network string, subnet netip.Prefix, addr netip.Addr) {
	signal(bs.viewAgain)
	if err := bs.ledger.putSource(network, heddle.FamilyOf(subnet.Addr()), addr); err != nil {
		bs.log.Warn("the host's own address of a network is not recorded", "network", network, "error", err)
	}
}
