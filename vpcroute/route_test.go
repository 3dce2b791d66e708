package vpcroute

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// TestCompile: a next hop that is there gets its route and its port's chains; one that is gone, or has another address, leaves the blackhole alone;
// what a network has is nobody's.
func TestCompile(t *testing.T) {
	id := heddle.EndpointID{Container: "hop", IfName: "eth0"}
	hop := Member{ID: id, Network: "lan", Link: "hb1", Port: "hd1", Addrs: []netip.Addr{netip.MustParseAddr("10.0.0.5")}}
	route := Route{Destination: prefix("192.168.50.0/24"), NextHop: hop.Addrs[0], Endpoint: id}
	lan := heddle.Network{Name: "lan", Mode: "bridge", Subnets: []netip.Prefix{prefix("10.0.0.0/24")}}
	thief := hop
	thief.ID.Container = "thief"
	moved, unguarded := hop, hop
	moved.Addrs, unguarded.Port = []netip.Addr{netip.MustParseAddr("10.0.0.6")}, ""
	over := heddle.Network{Name: "over", Mode: "bridge", Subnets: []netip.Prefix{prefix("192.168.0.0/16")}}
	inner := heddle.Network{Name: "inner", Mode: "bridge", Subnets: []netip.Prefix{prefix("192.168.50.64/26")}}
	for _, one := range []struct {
		name     string
		networks []heddle.Network
		members  []Member
		state    string
		routes   int
	}{
		{"there", []heddle.Network{lan}, []Member{thief, hop}, Active, 2},
		{"nobody", []heddle.Network{lan}, nil, Blackhole, 1},
		{"another has the address", []heddle.Network{lan}, []Member{thief}, Blackhole, 1},
		{"another address", []heddle.Network{lan}, []Member{moved}, Blackhole, 1},
		{"no port", []heddle.Network{lan}, []Member{unguarded}, Blackhole, 1},
		{"a network over it", []heddle.Network{lan, over}, []Member{hop}, Shadowed, 0},
		{"a network in it", []heddle.Network{lan, inner}, []Member{hop}, Active, 2},
	} {
		table := Table{route.Destination: route}
		shown, s := table.Show(one.networks, one.members), table.Compile(one.networks, one.members)
		if len(shown) != 1 || shown[0].State != one.state || (shown[0].Cause == "") != (one.state == Active) || len(s.Routes) != one.routes || (len(s.Elements) > 0) != (one.state == Active) {
			t.Errorf("%s: %+v, %d routes, %d elements", one.name, shown, len(s.Routes), len(s.Elements))
		}
	}
	out := Route{Destination: prefix("0.0.0.0/0"), Host: true}
	host := Member{Host: true, Network: "host", Link: "hdv1", Addrs: []netip.Addr{netip.MustParseAddr("100.64.0.1")}}
	for _, one := range []struct {
		route   Route
		members []Member
		state   string
		via     string
	}{
		{out, []Member{hop, host}, Active, "100.64.0.1"},
		{out, []Member{hop}, Blackhole, ""},
		{Route{Destination: prefix("::/0"), Host: true}, []Member{hop, host}, Blackhole, ""}, // the way out has IPv4 alone
		{Route{Destination: prefix("10.0.0.0/25"), Host: true}, []Member{host}, Shadowed, ""},
	} {
		table := Table{one.route.Destination: one.route}
		shown, s := table.Show([]heddle.Network{lan}, one.members)[0], table.Compile([]heddle.Network{lan}, one.members)
		via := ""
		for _, r := range s.Routes {
			if r.Link == "hdv1" {
				via = r.Via.String()
			}
		}
		if shown.State != one.state || shown.Goal() != Host || via != one.via || len(s.Elements) > 0 {
			t.Errorf("by the host, the route to %s is %+v, by %q", one.route.Destination, shown, via)
		}
	}
	if (Route{Destination: out.Destination}).Same(out) || (Route{Destination: out.Destination, Host: true, NextHop: hop.Addrs[0]}).Check() == nil {
		t.Error("a blackhole is the same as a way out, or a route has two next hops")
	}
	if s := (Table{}).Compile([]heddle.Network{lan}, []Member{hop}); !s.Empty() {
		t.Errorf("without routes there is %+v", s)
	}
}

// TestWays: for any routes and networks, what the ordered ways say of an address is what the longest prefix says.
func TestWays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func() netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(r.IntN(4)), byte(r.IntN(4)), byte(r.IntN(256))}), r.IntN(25)).Masked()
	}
	beyondOnce := 0
	for range 300 {
		table, mine := Table{}, []netip.Prefix(nil)
		for range 1 + r.IntN(6) {
			p := draw()
			table[p] = Route{Destination: p}
			if r.IntN(2) == 0 && !slices.Contains(mine, p) {
				mine = append(mine, p)
			}
		}
		n := heddle.Network{Subnets: []netip.Prefix{netip.PrefixFrom(draw().Addr(), 26).Masked()}}
		delete(table, n.Subnets[0])
		mine = slices.DeleteFunc(mine, func(p netip.Prefix) bool { return within(p, n.Subnets[0]) })
		ways := table.ways([]heddle.Network{n}, mine)
		for range 50 {
			a := netip.AddrFrom4([4]byte{10, byte(r.IntN(4)), byte(r.IntN(4)), byte(r.IntN(256))})
			got := false
			if i := slices.IndexFunc(ways, func(w firewall.Way) bool { return w.Prefix.Contains(a) }); i >= 0 {
				got = ways[i].Beyond
			}
			longest, want := -1, false
			for p := range table {
				if p.Contains(a) && p.Bits() > longest {
					longest, want = p.Bits(), slices.Contains(mine, p)
				}
			}
			if n.Subnets[0].Contains(a) && n.Subnets[0].Bits() >= longest {
				want = false
			}
			if got != want {
				t.Fatalf("%s is beyond: %v, want %v (routes %v, mine %v, network %v, ways %v)", a, got, want, table.Sorted(), mine, n.Subnets, ways)
			}
			if got {
				beyondOnce++
			}
		}
	}
	if beyondOnce < 100 {
		t.Errorf("%d addresses were beyond: this proves little", beyondOnce)
	}
}
