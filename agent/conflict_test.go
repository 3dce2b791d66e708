package agent

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestConflict checks pairs of endpoints of one container.
func TestConflict(t *testing.T) {
	one := func(ifname, subnet, route string, metric uint32, table int) record {
		r := record{Endpoint: heddle.Endpoint{ID: heddle.EndpointID{Container: "c", IfName: ifname},
			NetworkName: "n" + ifname}}
		if subnet != "" {
			r.Endpoint.Addrs = []netip.Prefix{netip.MustParsePrefix(subnet)}
			r.Plan.Pod.Addresses = []heddle.Address{{Link: ifname, Prefix: heddle.Single(r.Endpoint.Addrs[0].Addr())},
				{Link: ifname, Prefix: netip.MustParsePrefix("fe80::1/64")}}
		}
		if route != "" {
			r.Plan.Pod.Routes = []heddle.Route{{Dst: netip.MustParsePrefix(route), Link: ifname, Metric: metric,
				Table: table}}
		}
		return r
	}
	driven := func(r record) record { // by a program, which has no address in the kernel
		r.Endpoint.NIC, r.Plan.Pod = &heddle.NIC{Device: &heddle.NICDevice{}}, heddle.State{}
		return r
	}
	for _, c := range []struct {
		name string
		a, b record
		fits bool
	}{
		{"other subnets", one("eth0", "10.0.0.2/24", "0.0.0.0/0", 0, 0), one("eth1", "10.0.1.2/24", "", 0, 0), true},
		{"one subnet", one("eth0", "10.0.0.2/24", "", 0, 0), one("eth1", "10.0.0.3/24", "", 0, 0), false},
		{"one within the other", one("eth0", "10.0.0.2/8", "", 0, 0), one("eth1", "10.9.0.3/24", "", 0, 0), false},
		{"IPv6 within", one("eth0", "fd00::2/48", "", 0, 0), one("eth1", "fd00::1:3/64", "", 0, 0), false},
		{"two default routes", one("eth0", "", "0.0.0.0/0", 0, 0), one("eth1", "", "0.0.0.0/0", 0, 0), false},
		{"another metric", one("eth0", "", "0.0.0.0/0", 0, 0), one("eth1", "", "0.0.0.0/0", 100, 0), true},
		{"another table", one("eth0", "", "0.0.0.0/0", 0, 0), one("eth1", "", "0.0.0.0/0", 0, 7), true},
		{"one subnet, of which one NIC is a program's", driven(one("eth0", "10.0.0.2/24", "", 0, 0)), one("eth1", "10.0.0.3/24", "", 0, 0), true},
		{"itself", one("eth0", "10.0.0.2/24", "0.0.0.0/0", 0, 0), one("eth0", "10.0.0.2/24", "0.0.0.0/0", 0, 0), true},
	} {
		for _, pair := range [][2]record{{c.a, c.b}, {c.b, c.a}} {
			err := checkConflict(pair[0].Endpoint, pair[0].Plan, []record{pair[1]})
			if (err == nil) != c.fits || err != nil && !errors.Is(err, heddle.RoutesClash.Sentinel()) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}
