package agent

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

func newPool(subnet, part netip.Prefix) Pool {
	p := Pool{ID: subnet.String(), Subnet: subnet, Range: part, Asked: time.Now().UTC()}
	if part.IsValid() {
		p.ID += "," + part.String()
	}
	p.Gateway = netip.PrefixFrom(subnet.Addr().Next(), subnet.Bits())
	return p
}

// poolByID returns the pool that an ID describes, recorded or not.
func poolByID(id string) (Pool, error) {
	text, ranged, _ := strings.Cut(id, ",")
	subnet, err := netip.ParsePrefix(text)
	var part netip.Prefix
	if err == nil && ranged != "" {
		part, err = netip.ParsePrefix(ranged)
	}
	if err != nil {
		return Pool{}, heddle.Wrap(heddle.BadArgument, "find pool", id, err,
			"give the pool's subnet and, after a comma, its range")
	}
	return newPool(subnet.Masked(), part), nil
}

// withGateway returns the pool with its network's gateway.
func (k *reservations) withGateway(p Pool) Pool {
	if n := k.networks.withSubnet(p.Subnet); n != nil {
		if gw, ok := n.GatewayFor(p.Subnet.Addr()); ok {
			p.Gateway = netip.PrefixFrom(gw, p.Subnet.Bits())
		}
	}
	return p
}

// listPools is Agent.Pools.
func (k *reservations) listPools() []Pool {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []Pool
	for _, p := range k.poolByID {
		all = append(all, k.withGateway(p))
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

// subnetOf returns the subnet of an existing network.
func (k *reservations) subnetOf(ask PoolRequest) (netip.Prefix, error) {
	n := k.networks.byID(ask.Network)
	if n == nil {
		return netip.Prefix{}, heddle.Errorf(heddle.NoNetwork, "find network with ID", ask.Network, "",
			"name another network: 'heddle network list' shows those there are")
	}
	for _, s := range n.Subnets {
		if ask.Subnet.IsValid() && s == ask.Subnet || !ask.Subnet.IsValid() && ask.family().Has(s.Addr()) {
			return s, nil
		}
	}
	return netip.Prefix{}, heddle.Errorf(heddle.BadSubnet, "find subnet", ask.Subnet.String()+" of network "+n.Name,
		"the network has no such subnet", "name a subnet of the network: "+strings.Trim(fmt.Sprint(n.Subnets), "[]"))
}
