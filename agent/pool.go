package agent

import (
	"fmt"
	"net/netip"
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

// family is that of the subnet that is asked for, if none is named.
func (p PoolAsk) family() heddle.Family {
	if p.V6 {
		return heddle.IPv6
	}
	return heddle.IPv4
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
	if err := a.host.look(); err != nil {
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
		ask.Subnet, err = a.freeSubnet(ask.family())
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
	if err := a.trip.step("ledger pool"); err != nil {
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
		case a.networks.on(other.Subnet) == nil && time.Since(other.Asked) > wayTime:
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
	if err := a.trip.step("ledger release pool"); err != nil {
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
		if a.networks.on(p.Subnet) != nil || time.Since(p.Asked) < poolTime {
			continue
		}
		if err := a.dropPool(id); err != nil {
			a.log.Error("a pool is not forgotten", "pool", id, "error", err)
		}
	}
}
