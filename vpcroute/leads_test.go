package vpcroute

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestChanged: what leads elsewhere has changed, whatever did it: a route, its next hop, or a network in it. All else stays.
func TestChanged(t *testing.T) {
	hop := Member{ID: heddle.EndpointID{Container: "hop", IfName: "eth0"}, Network: "lan", Link: "hb1", Port: "hd1", Addrs: []netip.Addr{netip.MustParseAddr("10.0.0.5")}}
	far := Member{ID: heddle.EndpointID{Container: "far", IfName: "eth0"}, Network: "far", Link: "hb2", Port: "hd2", Addrs: []netip.Addr{netip.MustParseAddr("10.1.0.5")}}
	lan := heddle.Network{ID: "1", Subnets: []netip.Prefix{prefix("10.0.0.0/24")}}
	inner := heddle.Network{ID: "2", Subnets: []netip.Prefix{prefix("192.168.50.64/26")}}
	to := func(m Member) Route {
		return Route{Destination: prefix("192.168.50.0/24"), NextHop: m.Addrs[0], Endpoint: m.ID}
	}
	all := []Member{hop, far}
	before := Table{to(hop).Destination: to(hop)}.Leads([]heddle.Network{lan}, all)
	for name, one := range map[string]struct {
		table    Table
		networks []heddle.Network
		members  []Member
		changed  []netip.Prefix
	}{
		"nothing":          {Table{to(hop).Destination: to(hop)}, []heddle.Network{lan}, all, nil},
		"another next hop": {Table{to(far).Destination: to(far)}, []heddle.Network{lan}, all, []netip.Prefix{to(hop).Destination}},
		"no next hop":      {Table{to(hop).Destination: to(hop)}, []heddle.Network{lan}, nil, []netip.Prefix{to(hop).Destination}},
		"no route":         {Table{}, []heddle.Network{lan}, all, []netip.Prefix{to(hop).Destination}},
		"a network in it":  {Table{to(hop).Destination: to(hop)}, []heddle.Network{lan, inner}, all, inner.Subnets},
	} {
		if changed, stay := before.Changed(one.table.Leads(one.networks, one.members)); !slices.Equal(changed, one.changed) || !slices.Contains(stay, lan.Subnets[0]) {
			t.Errorf("%s: %v has changed, %v stays", name, changed, stay)
		}
	}
	before.Doubt([]netip.Prefix{to(hop).Destination})
	if changed, _ := before.Changed(Table{to(hop).Destination: to(hop)}.Leads([]heddle.Network{lan}, all)); !slices.Equal(changed, []netip.Prefix{to(hop).Destination}) {
		t.Errorf("of what is in doubt, %v has changed", changed)
	}
}
