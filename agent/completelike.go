package agent

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// completeLike completes a request for a network that already exists in that mode, so that the two can be
// compared. What was chosen for a request that left it out is taken from the existing network. So
// is, on a LAN, what the request leaves out: the host's or the LAN's addresses may have changed.
func (a *Agent) completeLike(mode heddle.Mode, old *network, want heddle.Network) (heddle.Network, error) {
	if choosesSubnets(mode, want) {
		want.Subnets, want.Gateways, want.Reserved = old.Subnets, old.Gateways, old.Reserved
	}
	if !mayShareSubnet(mode) {
		return a.complete(mode, want)
	}
	check := ipam.Check
	if _, plugs := heddle.PlugsParents(mode, want); plugs {
		check = ipam.CheckOnLAN
	}
	if _, guest := mode.(heddle.LANMode); guest {
		check = ipam.CheckOnLAN
		if want.Parent == "" {
			want.Parent = old.Parent
		}
		if len(want.Subnets) == 0 {
			want.Subnets = old.Subnets
		}
		if len(want.Gateways) == 0 {
			want.Gateways = old.Gateways
		}
	}
	n, err := check(want)
	unknown := func(addr netip.Addr) bool { return !slices.Contains(old.Reserved, addr) }
	if !slices.ContainsFunc(n.Reserved, unknown) {
		n.Reserved = old.Reserved
	}
	return n, err
}
