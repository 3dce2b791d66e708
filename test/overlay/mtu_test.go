package overlay_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/span"
	"github.com/heddle-network/heddle/test/world"
)

// TestUnderlayMTU: over an underlay of any size that leaves IPv4 its least MTU, networks of
// IPv4 work, with packets as large as they may be; networks with IPv6 work where there is
// room for its least MTU, and are refused elsewhere. Nothing is missing on the hosts.
func TestUnderlayMTU(t *testing.T) {
	cell.Need(t)
	for _, row := range []struct {
		over heddle.Family
		mtu  int
		dual bool // a network with IPv6 has room
		none bool // no network has room
	}{
		{over: heddle.IPv4, mtu: 9000, dual: true}, {over: heddle.IPv4, mtu: 1400, dual: true}, {over: heddle.IPv4, mtu: 1330, dual: true},
		{over: heddle.IPv4, mtu: 1329}, {over: heddle.IPv4, mtu: 1280}, {over: heddle.IPv4, mtu: 1000}, {over: heddle.IPv4, mtu: 626},
		{over: heddle.IPv4, mtu: 620, none: true},
		{over: heddle.IPv6, mtu: 1350, dual: true}, {over: heddle.IPv6, mtu: 1349}, {over: heddle.IPv6, mtu: 1280},
	} {
		t.Run(fmt.Sprintf("%d over %s", row.mtu, row.over), func(t *testing.T) {
			c := span.NewWithMTU(t, row.over, row.mtu)
			dual := heddle.Network{ID: "0000000000000002", Name: "dual", Mode: "overlay",
				Subnets: []netip.Prefix{netip.MustParsePrefix("10.22.0.0/24"), netip.MustParsePrefix("fd22::/64")}}
			single := dual
			single.Subnets = dual.Subnets[:1]
			for _, x := range []struct {
				n     heddle.Network
				taken bool
			}{{dual, row.dual}, {single, !row.none}} {
				if err := c.Refuses(x.n); (err == nil) != x.taken || err != nil && heddle.BadMTU.In(err) == nil {
					t.Errorf("network of %v: %v", x.n.Subnets, err)
				}
			}
			if row.none {
				return
			}
			n := c.Network(t, 1, func(n *heddle.Network) {
				if !row.dual {
					n.Subnets, n.Gateways = n.Subnets[:1], n.Gateways[:1]
				}
			})
			a, b := c.Pod(t, "a", 0, n, at(0, 0)), c.Pod(t, "b", 0, n, at(0, 1), world.Mapping("8080:7000/tcp"), world.Mapping("8080:7000/udp"))
			far := c.Pod(t, "far", 1, n, at(1, 0))
			b.Serve(t, 7000, b.Addrs()...)
			far.Serve(t, 7000, far.Addrs()...)
			for _, to := range []*span.Pod{b, far} {
				for _, addr := range to.Addrs() {
					whole(t, a, addr, a.Endpoint.MTU)
				}
				a.Gets(t, to.Name, 7000, to.Addrs()...)
			}
			a.Reaches(t, n.Gateways...)
			far.Gets(t, "b", 8080, c.Hosts[0].Underlays()[0])
			for _, missing := range c.Differs(t) {
				t.Error(missing)
			}
		})
	}
}

// TestPathBelowIPv6: a path that carries less than 1280 bytes of a container's packet takes
// IPv4 all the same.
func TestPathBelowIPv6(t *testing.T) {
	cell.Need(t)
	c := span.New(t, heddle.IPv4)
	n := c.Network(t, 1, nil)
	a, far := c.Pod(t, "a", 0, n, at(0, 0)), c.Pod(t, "far", 1, n, at(1, 0))
	c.NarrowPath(t, 1000)
	to := far.Addrs()[0]
	world.Soon(t, "the container knows the path", func() error {
		_ = a.Ping(to, "-M", "do", "-s", "1200")
		out, err := a.TrySh("ip route get %s", to)
		if err == nil && !strings.Contains(out, "mtu 950") {
			err = fmt.Errorf("its route is %s", out)
		}
		return err
	})
	whole(t, a, to, 950)
	far.Serve(t, 7000, far.Addrs()...)
	a.Gets(t, "far", 7000, far.Addrs()...)
}
