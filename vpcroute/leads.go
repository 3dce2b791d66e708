package vpcroute

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
)

// Leads says where packets to each prefix go that a VPC knows: to its own network, to a next hop, or nowhere.
type Leads map[netip.Prefix]string

// unknown is no place: whatever comes next is another one.
const unknown = "?"

// Leads says where packets go by the routes and the subnets.
func (all Table) Leads(networks []heddle.Network, members []Member) Leads {
	l := Leads{}
	for _, n := range networks {
		for _, p := range n.Subnets {
			l[p] = "network " + n.ID
		}
	}
	for _, r := range all {
		switch shown, m := r.resolve(networks, members); shown.State {
		case Active:
			l[r.Destination] = r.Leads() + " on " + m.Link
		case Blackhole:
			l[r.Destination] = Blackhole
		}
	}
	return l
}

// Changed are the prefixes whose packets go elsewhere by the next ones, in whole or in part, and those that stay.
func (l Leads) Changed(next Leads) (changed, stay []netip.Prefix) {
	for p, to := range next {
		if l[p] != to {
			changed = append(changed, p)
		} else {
			stay = append(stay, p)
		}
	}
	for p := range l {
		if _, there := next[p]; !there {
			changed = append(changed, p)
		}
	}
	for _, some := range [][]netip.Prefix{changed, stay} {
		slices.SortFunc(some, netip.Prefix.Compare)
	}
	return changed, stay
}

// Doubt notes that it is not known where packets to these prefixes go.
func (l Leads) Doubt(some []netip.Prefix) {
	for _, p := range some {
		l[p] = unknown
	}
}
