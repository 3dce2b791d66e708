package agent

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// PoolAsk asks for a subnet that a network is to have, before there is one.
type PoolAsk struct {
	// Subnet is the zero prefix to get a free one.
	Subnet netip.Prefix `json:"subnet,omitzero"`
	// Range narrows the addresses given out unasked; it lies in the subnet.
	Range netip.Prefix `json:"range,omitzero"`
	// V6 asks for an IPv6 subnet, if none is named.
	V6 bool `json:"v6,omitempty"`
	// Network is the ID of a network that is there: the pool is its subnet.
	Network string `json:"network,omitempty"`
}

// Pool is a subnet that is spoken for.
type Pool struct {
	// ID is the text of what was asked for: the subnet and, after a comma, the
	// range.
	ID     string       `json:"id"`
	Subnet netip.Prefix `json:"subnet"`
	Range  netip.Prefix `json:"range,omitzero"`
	// Gateway is the one that a network on it has, or will have unless it is
	// created with another.
	Gateway netip.Prefix `json:"gateway"`
	Asked   time.Time    `json:"asked"`
}

// poolTime is how long a pool is kept without a network: its engine died between
// asking for it and creating one.
const poolTime = 10 * time.Minute

// wayTime is how long a pool without a network keeps others from its subnet: an
// engine that asks for a pool creates the network at once.
const wayTime = 30 * time.Second

// RequestPool speaks for a subnet: the one asked for, the same pool however often
// it is asked for, or a free one that overlaps nothing on this host nor in the
// cluster, another each time. It is on disk before RequestPool returns.
func (a *Agent) RequestPool(ask PoolAsk) (Pool, error) {
	if !a.ready.Load() {
		return Pool{}, heddle.Errorf(heddle.Stopping, "pool", ask.Subnet.String(), "call again when the agent is back")
	}
	if err := a.refreshFacts(); err != nil {
		return Pool{}, err
	}
	a.leaseOps.Lock()
	defer a.leaseOps.Unlock()
	a.forgetPools()
	var err error
	ask.Subnet = ask.Subnet.Masked()
	switch {
	case ask.Network != "":
		ask.Subnet, err = a.subnetOf(ask)
	case !ask.Subnet.IsValid():
		ask.Subnet, err = a.freeSubnet(ask.V6)
	default:
		err = a.checkSubnetFree(ask.Subnet)
	}
	if err != nil {
		return Pool{}, err
	}
	if ask.Range.IsValid() && !within(ask.Range, ask.Subnet) {
		return Pool{}, heddle.Errorf(heddle.BadSubnet, "pool "+ask.Subnet.String()+": range", ask.Range.String(), "a range must lie in the subnet")
	}
	p := newPool(ask.Subnet, ask.Range.Masked())
	if old, known := a.subnets[p.ID]; known {
		p = old
	}
	if err := a.clearWay(p); err != nil {
		return Pool{}, err
	}
	if err := a.step("ledger pool"); err != nil {
		return Pool{}, err
	}
	if err := a.ledger.putPool(p); err != nil {
		return Pool{}, err
	}
	a.subnets[p.ID] = p
	return a.filled(p), nil
}

// clearWay ends pools that a new one overlaps, and that got no network in time. If
// one of them is in use, it changes nothing. The caller holds leaseOps.
func (a *Agent) clearWay(p Pool) error {
	var dead []string
	for _, other := range a.subnets {
		switch {
		case other.ID == p.ID || !other.Subnet.Overlaps(p.Subnet):
		case a.networkOf(other) == nil && time.Since(other.Asked) > wayTime:
			dead = append(dead, other.ID)
		default:
			return heddle.Errorf(heddle.SubnetOverlap, "pool", fmt.Sprintf("%s and pool %s", p.ID, other.ID), "choose another subnet")
		}
	}
	for _, id := range dead {
		for _, l := range a.leases {
			if l.Pool != id {
				continue
			}
			if err := a.dropLease(l); err != nil {
				return err
			}
		}
		if err := a.dropPool(id); err != nil {
			return err
		}
		a.log.Info("a pool that got no network made way for another", "pool", id, "for", p.ID)
	}
	return nil
}

func newPool(subnet, part netip.Prefix) Pool {
	p := Pool{ID: subnet.String(), Subnet: subnet, Range: part, Asked: time.Now().UTC()}
	if part.IsValid() {
		p.ID += "," + part.String()
	}
	p.Gateway = netip.PrefixFrom(subnet.Addr().Next(), subnet.Bits())
	return p
}

// poolByID finds a pool; of one that is not recorded, its ID says all.
func (a *Agent) poolByID(id string) (Pool, error) {
	text, ranged, _ := strings.Cut(id, ",")
	subnet, err := netip.ParsePrefix(text)
	var part netip.Prefix
	if err == nil && ranged != "" {
		part, err = netip.ParsePrefix(ranged)
	}
	if err != nil {
		return Pool{}, heddle.Wrap(heddle.BadArgument, "find pool", id, err, "a pool's ID is its subnet and, after a comma, its range")
	}
	return newPool(subnet.Masked(), part), nil
}

// networkOf is the network on a pool's subnet, nil if there is none yet.
func (a *Agent) networkOf(p Pool) *network {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, n := range a.networks {
		if slices.Contains(n.Subnets, p.Subnet) {
			c := *n
			return &c
		}
	}
	return nil
}

// filled is the pool with its network's gateway.
func (a *Agent) filled(p Pool) Pool {
	if n := a.networkOf(p); n != nil {
		if gw, ok := n.GatewayFor(p.Subnet.Addr()); ok {
			p.Gateway = netip.PrefixFrom(gw, p.Subnet.Bits())
		}
	}
	return p
}

// ReleasePool ends a pool. One that is not there is released already.
func (a *Agent) ReleasePool(id string) error {
	if !a.ready.Load() {
		return heddle.Errorf(heddle.Stopping, "release pool", id, "call again when the agent is back")
	}
	a.leaseOps.Lock()
	defer a.leaseOps.Unlock()
	if _, known := a.subnets[id]; !known {
		return nil
	}
	if err := a.step("ledger release pool"); err != nil {
		return err
	}
	return a.dropPool(id)
}

func (a *Agent) dropPool(id string) error {
	if err := a.ledger.dropPool(id); err != nil {
		return err
	}
	delete(a.subnets, id)
	delete(a.given, id)
	return nil
}

// forgetPools drops the pools that never got a network; what is leased of them,
// expire drops. The caller holds leaseOps.
func (a *Agent) forgetPools() {
	for id, p := range a.subnets {
		if a.networkOf(p) != nil || time.Since(p.Asked) < poolTime {
			continue
		}
		if err := a.dropPool(id); err != nil {
			a.log.Error("a pool is not forgotten", "pool", id, "error", err)
		}
	}
}

// Pools lists the pools, by ID.
func (a *Agent) Pools() []Pool {
	a.leaseOps.Lock()
	defer a.leaseOps.Unlock()
	var all []Pool
	for _, p := range a.subnets {
		all = append(all, a.filled(p))
	}
	slices.SortFunc(all, func(x, y Pool) int { return strings.Compare(x.ID, y.ID) })
	return all
}

// PoolOf finds the pool of a subnet.
func (a *Agent) PoolOf(subnet netip.Prefix) (Pool, bool) {
	for _, p := range a.Pools() {
		if p.Subnet == subnet.Masked() {
			return p, true
		}
	}
	return Pool{}, false
}

// subnetOf is the subnet of a network that is there.
func (a *Agent) subnetOf(ask PoolAsk) (netip.Prefix, error) {
	n := a.networkByID(ask.Network)
	if n == nil {
		return netip.Prefix{}, heddle.Errorf(heddle.NoNetwork, "network with the ID", ask.Network, "'heddle network list' shows those there are")
	}
	for _, s := range n.Subnets {
		if ask.Subnet.IsValid() && s == ask.Subnet || !ask.Subnet.IsValid() && s.Addr().Is6() == ask.V6 {
			return s, nil
		}
	}
	return netip.Prefix{}, heddle.Errorf(heddle.BadSubnet, "network "+n.Name+": subnet", ask.Subnet.String(), fmt.Sprintf("its subnets are %v", n.Subnets))
}
