package direct

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestClosed: what a NIC must not lead to is closed before there is any other route, by a route of the interface's own: if another interface
// of the container goes, its route stays.
func TestClosed(t *testing.T) {
	closed, foreign := netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("fd00:100::100:200/128") // the container has no IPv6 address
	seen := map[string]bool{}
	for _, ifname := range []string{"eth0", "eth1"} {
		e := heddle.Endpoint{ID: heddle.EndpointID{Container: "c", IfName: ifname}, Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}, DefaultRoute: true,
			NIC: &heddle.NIC{Name: "eth5", MAC: "0a:00:00:00:00:01", Plugged: &heddle.PluggedNIC{Token: "e-1", Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.253")},
				Closed: []netip.Prefix{foreign, closed}}}}
		plan, err := Mode{}.Endpoint(heddle.HostFacts{}, heddle.Network{Name: "n", Mode: "direct"}, e)
		if err != nil {
			t.Fatal(err)
		}
		routes := plan.Pod.Routes
		if len(routes) < 2 || routes[1].Dst == foreign || routes[0].Dst != closed || routes[0].Type != "unreachable" || seen[routes[0].Key()] {
			t.Errorf("%s has %v", ifname, routes)
			continue
		}
		seen[routes[0].Key()] = true
	}
}
