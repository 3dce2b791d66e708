package havip

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/policy"
)

// All are the addresses of a host, by name.
type All map[string]HAVIP

// Holders says who holds each address, by its name. What nobody holds is not in it.
type Holders map[string]heddle.EndpointID

// On are the addresses of a network, by name.
func (all All) On(network string) (some []HAVIP) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].Network == network {
			some = append(some, all[name])
		}
	}
	return some
}

// Valid are those of the holders that are members still: an address whose holder has gone is free.
func (all All) Valid(holders Holders, members []Member) Holders {
	valid := Holders{}
	for name, id := range holders {
		if slices.ContainsFunc(all[name].Of(members), func(m Member) bool { return m.ID == id }) {
			valid[name] = id
		}
	}
	return valid
}

// Sharing returns what adds to an endpoint of a network the addresses that it may send from, and those that it holds, for policies.
func (all All) Sharing(holders Holders) func(network string, m policy.Member) policy.Member {
	on := map[string][]HAVIP{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		on[all[name].Network] = append(on[all[name].Network], all[name])
	}
	return func(network string, m policy.Member) policy.Member {
		for _, h := range on[network] {
			if h.Has(Member{Member: m, NetworkID: network}) {
				m.Shared = append(m.Shared, h.Address)
				if holders[h.Name] == m.ID {
					m.Held = append(m.Held, h.Address)
				}
			}
		}
		return m
	}
}

// Compile computes what the host has to have for the addresses. Networks are by ID; of one that is not known nothing is computed.
func (all All) Compile(networks map[string]heddle.Network, members []Member, holders Holders) heddle.State {
	var s heddle.State
	for _, name := range slices.Sorted(maps.Keys(all)) {
		h := all[name]
		n, known := networks[h.Network]
		if !known {
			continue
		}
		if len(s.Firewall) == 0 {
			s.Firewall = firewall.HAVIPs()
		}
		s.Elements = append(s.Elements, firewall.HAVIPKnown(n, h.Address)...)
		s.Elements = append(s.Elements, firewall.Publish(h.published(n))...)
		if h.Address.Is4() {
			s.Sysctls = append(s.Sysctls, heddle.LoopbackWay(n.BridgeName(0), h.Ports)...)
		}
		for _, m := range h.Of(members) {
			s.Elements = append(s.Elements, firewall.HAVIPGuard(m.Port, h.Address)...)
			if m.ID == holders[name] {
				s.Elements = append(s.Elements, firewall.HAVIPHeld(n, h.Address, m.MAC))
				s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: n.BridgeName(0), Addr: h.Address, MAC: m.MAC})
			}
		}
	}
	return s
}

// published is the address as an endpoint that publishes its ports.
func (h HAVIP) published(n heddle.Network) heddle.Endpoint {
	return heddle.Endpoint{ID: h.HolderID(), Network: n.ID, Addrs: []netip.Prefix{netip.PrefixFrom(h.Address, h.Address.BitLen())}, Ports: h.Ports}
}
