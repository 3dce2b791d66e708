package agent

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// withRoutes makes the network one whose host routes, and has the NICs' first addresses.
func withRoutes(p *plugs) {
	p.networks.put(&network{Network: heddle.Network{ID: "id", Name: "net", Mode: "routes", Options: map[string]string{"plug": "lan"}}})
}

// TestParentTables: each NIC by which the host routes has a routing table of its own, also after the agent was killed. The number is free again when the NIC
// has been taken out. A NIC of another mode has none.
func TestParentTables(t *testing.T) {
	inParents(t, "", func(t *testing.T, before *plugs, c *cloud) {
		if e := shared(t, before, "none"); e.Parent.Routed != nil {
			t.Errorf("the host routes by %+v, whose endpoints are on its network", e.Parent)
		}
		c.first = netPrefixes("10.0.0.250/24")
		withRoutes(before)
		leaves(before, heddle.Endpoint{ID: containerID("none")})
		before.parents.pools = map[string]*parentPool{}
		a, b, d := shared(t, before, "a"), shared(t, before, "b"), shared(t, before, "d")
		first := a.Parent.Routed.Table
		if first != heddle.ParentTables || b.Parent.Routed.Table != first || d.Parent.Routed.Table != first+1 || a.Parent.Routed.Addrs[0] != c.first[0] {
			t.Errorf("%+v, %+v, %+v", a.Parent.Routed, b.Parent.Routed, d.Parent.Routed)
		}
		p, _ := newPlugs(t)
		p.provider, p.kernel, p.host, p.lookout = before.provider, before.kernel, before.host, before.lookout
		withRoutes(p)
		for _, e := range []heddle.Endpoint{b, d} {
			p.records.add(record{Endpoint: e}, "")
			p.restore(e)
		}
		e, f := shared(t, p, "e"), shared(t, p, "f") // a's address cools
		if e.Parent.Token != d.Parent.Token || e.Parent.Routed.Table != first+1 || f.Parent.Routed.Table != first+2 {
			t.Errorf("after a start: %+v, %+v", e.Parent, f.Parent)
		}
		leaves(p, b)
		time.Sleep(coolDown)
		look(t, p)
		if g := shared(t, p, "g"); g.Parent.Routed.Table != first+2 {
			t.Errorf("an address of the NIC with most is not given: %+v", g.Parent)
		}
		if h := shared(t, p, "h"); h.Parent.Routed.Table != first {
			t.Errorf("the number of the NIC that is gone is not free: %+v", h.Parent)
		}
	})
}

// TestRoutedGateways: endpoints that the host routes for have it for their gateway, others the NIC's network's.
func TestRoutedGateways(t *testing.T) {
	on := heddle.ParentNIC{Name: "eth1", Gateways: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}
	n := heddle.Network{Subnets: netPrefixes("10.0.0.0/24")}
	if got := n.LeasedTo(heddle.Endpoint{Parent: &on}); got.Parent != "eth1" || got.Gateways[0].String() != "10.0.0.1" {
		t.Errorf("%+v", got)
	}
	on.Routed = &heddle.RoutedNIC{Addrs: netPrefixes("10.0.0.250/24")}
	if got := n.LeasedTo(heddle.Endpoint{Parent: &on}); len(got.Gateways) != 1 || got.Gateways[0].String() != "10.0.0.250" {
		t.Errorf("%+v", got)
	}
}

// TestRoutedSubnets: a NIC that has no first address in one of the network's subnets is refused, and its address is given back.
func TestRoutedSubnets(t *testing.T) {
	inParents(t, "", func(t *testing.T, p *plugs, c *cloud) {
		withRoutes(p)
		w, _ := p.parents.network("id")
		a := &Agent{plugs: p, opt: Options{NICs: c}}
		e := heddle.Endpoint{}
		_, _, err := a.claimParent(t.Context(), w, &network{Network: heddle.Network{ID: "id", Name: "net", Subnets: netPrefixes("10.0.0.0/24")}}, heddle.AttachRequest{ID: containerID("a")}, &e)
		if used, _, _ := p.parents.pools["id"].counts(time.Now()); heddle.OutsidePool.In(err) == nil || used != 0 || e.Parent != nil {
			t.Errorf("with %d in use: %v", used, err)
		}
	})
}

// TestRoutedNames: containers that the host routes for by a NIC ask for names at the NIC's first address, which is the host's. Beside containers that are on the NIC's
// network themselves, that address is nobody's.
func TestRoutedNames(t *testing.T) {
	tables := newNameTables()
	tables.resolver = "resolver"
	for _, x := range []struct {
		mode   heddle.Mode
		routed *heddle.RoutedNIC
		want   []netip.Addr
	}{{routes{}, &heddle.RoutedNIC{Addrs: netPrefixes("10.0.0.250/24")}, []netip.Addr{netip.MustParseAddr("10.0.0.250")}}, {shares{}, nil, nil}} {
		n := &network{mode: x.mode, Network: heddle.Network{ID: "id", Subnets: netPrefixes("10.0.0.0/24"), Options: map[string]string{"plug": "lan"}}}
		r := record{Endpoint: heddle.Endpoint{ID: containerID("a"), Addrs: netPrefixes("10.0.0.5/24"),
			Parent: &heddle.ParentNIC{Gateways: []netip.Addr{netip.MustParseAddr("10.0.0.1")}, Routed: x.routed}}}
		for _, a := range netPrefixes("10.0.0.250/32", "fe80::1/64", "192.0.2.1/32") {
			r.Plan.Host.Addresses = append(r.Plan.Host.Addresses, heddle.Address{Link: "hd1", Prefix: a})
		}
		if got := tables.resolvers(n, r); !slices.Equal(got, x.want) {
			t.Errorf("mode %s: the container asks at %v", x.mode.Name(), got)
		}
		own := &ownNames{listen: map[netip.Addr]int{}}
		one, _ := newOwnName(r, "")
		own.put(one)
		if got := own.at(n).Gateways; !slices.Equal(got, x.want) {
			t.Errorf("mode %s: the host answers at %v", x.mode.Name(), got)
		}
		own.drop(one.ID)
		if got := own.at(n).Gateways; len(got) > 0 {
			t.Errorf("mode %s: without endpoints the host answers at %v", x.mode.Name(), got)
		}
	}
}
