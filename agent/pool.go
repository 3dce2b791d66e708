package agent

import (
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
)

// PoolRequest asks for a subnet for a network that does not exist yet.
type PoolRequest struct {
	// Subnet is the zero prefix to get any free one.
	Subnet netip.Prefix `json:"subnet,omitzero"`
	// Range limits the addresses that are given out to callers who name none. It lies in the
	// subnet.
	Range netip.Prefix `json:"range,omitzero"`
	// V6 asks for an IPv6 subnet, if Subnet is zero.
	V6 bool `json:"v6,omitempty"`
	// Network is the ID of an existing network: the pool is its subnet.
	Network string `json:"network,omitempty"`
}

// family is the family of the subnet that is asked for, if none is named.
func (p PoolRequest) family() heddle.Family {
	if p.V6 {
		return heddle.IPv6
	}
	return heddle.IPv4
}

// Pool is a subnet that is reserved.
type Pool struct {
	// ID is the text of the request: the subnet and, after a comma, the range.
	ID     string       `json:"id"`
	Subnet netip.Prefix `json:"subnet"`
	Range  netip.Prefix `json:"range,omitzero"`
	// Gateway is the gateway of the network on the pool, or the one that it will have unless it is
	// created with another.
	Gateway netip.Prefix `json:"gateway"`
	Asked   time.Time    `json:"asked"`
}

// poolExpiry is how long a pool without a network is kept. Its engine may have died before it
// created the network.
const poolExpiry = 10 * time.Minute

// abandonedAfter is how long a pool without a network blocks its subnet for others. An engine
// creates the network at once after it has got a pool.
const abandonedAfter = 30 * time.Second

// requestPool is Agent.RequestPool.
func (k *reservations) requestPool(ask PoolRequest) (Pool, error) {
	if err := k.host.refresh(); err != nil {
		return Pool{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgetPoolsLocked()
	var err error
	switch {
	case ask.Network != "":
		ask.Subnet, err = k.subnetOf(ask)
	case !ask.Subnet.IsValid():
		ask.Subnet, err = k.freeSubnetLocked(ask.family(), usualRange)
	default:
		err = k.checkSubnetFree(ask.Subnet)
	}
	if err != nil {
		return Pool{}, err
	}
	if ask.Range.IsValid() && !within(ask.Range, ask.Subnet) {
		return Pool{}, heddle.Errorf(heddle.BadSubnet, "reserve range",
			ask.Range.String()+" of pool "+ask.Subnet.String(), "the range does not lie in the subnet",
			"choose a range in the subnet")
	}
	p := newPool(ask.Subnet, ask.Range)
	if old, known := k.poolByID[p.ID]; known {
		p = old
	}
	if err := k.removeAbandonedPoolsLocked(p); err != nil {
		return Pool{}, err
	}
	if err := k.trip.step("ledger pool"); err != nil {
		return Pool{}, err
	}
	if err := k.ledger.putPool(p); err != nil {
		return Pool{}, err
	}
	k.poolByID[p.ID] = p
	return k.withGateway(p), nil
}

// removeAbandonedPoolsLocked ends the pools that overlap a new one and got no network in time. If
// one of them is in use, it fails and changes nothing.
func (k *reservations) removeAbandonedPoolsLocked(p Pool) error {
	var dead []string
	for _, other := range k.poolByID {
		switch {
		case other.ID == p.ID || !other.Subnet.Overlaps(p.Subnet):
		case k.networks.withSubnet(other.Subnet) == nil && time.Since(other.Asked) > abandonedAfter:
			dead = append(dead, other.ID)
		default:
			return heddle.Errorf(heddle.SubnetOverlap, "reserve pool", p.ID, "the pool overlaps pool "+other.ID,
				"choose another subnet")
		}
	}
	for _, id := range dead {
		for _, l := range k.leases {
			if l.Pool != id {
				continue
			}
			if err := k.dropLeaseLocked(l); err != nil {
				return err
			}
		}
		if err := k.dropPoolLocked(id); err != nil {
			return err
		}
		k.log.Info("a pool that got no network made way for another", "pool", id, "for", p.ID)
	}
	return nil
}

// releasePool is Agent.ReleasePool.
func (k *reservations) releasePool(id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.poolByID[id]; !known {
		return nil
	}
	if err := k.trip.step("ledger release pool"); err != nil {
		return err
	}
	return k.dropPoolLocked(id)
}

func (k *reservations) dropPoolLocked(id string) error {
	if err := k.ledger.dropPool(id); err != nil {
		return err
	}
	delete(k.poolByID, id)
	delete(k.returned, id)
	return nil
}

// forgetPoolsLocked drops the pools that never got a network. expireLocked drops their leases.
func (k *reservations) forgetPoolsLocked() {
	for id, p := range k.poolByID {
		if k.networks.withSubnet(p.Subnet) != nil || time.Since(p.Asked) < poolExpiry {
			continue
		}
		if err := k.dropPoolLocked(id); err != nil {
			k.log.Error("a pool is not forgotten", "pool", id, "error", err)
		}
	}
}
