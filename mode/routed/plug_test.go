package routed

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

func prefixes(all ...string) (p []netip.Prefix) {
	for _, s := range all {
		p = append(p, netip.MustParsePrefix(s))
	}
	return p
}

// pluggedNetwork is one whose parents are plugged in.
func pluggedNetwork() heddle.Network {
	return heddle.Network{ID: "00000000000000aa", Name: "pods", Mode: "routed", MTU: 1500, Subnets: prefixes("10.70.0.0/24", "fd70::/64"), Options: map[string]string{"plug": "lan"}}
}

// TestCheckPlug: what does not go with parents that are plugged in is refused, and the remedy says what to leave out.
func TestCheckPlug(t *testing.T) {
	option := func(key, value string) func(*heddle.Network) {
		return func(n *heddle.Network) { n.Options[key] = value }
	}
	facts := heddle.HostFacts{Links: []heddle.LinkFact{{Name: "eth1", MTU: 1500}}}
	for name, x := range map[string]struct {
		change func(*heddle.Network)
		code   heddle.Code
		remedy string
	}{
		"plugged":     {func(*heddle.Network) {}, "", ""},
		"warm":        {option("warm", "256"), "", ""},
		"big-tcp":     {option("big-tcp", "true"), "", ""},
		"parent":      {func(n *heddle.Network) { n.Parent = "eth1" }, heddle.BadOption, "leave --parent out"},
		"no subnet":   {func(n *heddle.Network) { n.Subnets = nil }, heddle.BadSubnet, "--subnet"},
		"gateway":     {func(n *heddle.Network) { n.Gateways = []netip.Addr{netip.MustParseAddr("10.70.0.1")} }, heddle.BadOption, "leave --gateway"},
		"range":       {func(n *heddle.Network) { n.Ranges = prefixes("10.70.0.0/25") }, heddle.BadOption, "--ip-range"},
		"internal":    {func(n *heddle.Network) { n.Internal = true }, heddle.BadOption, "leave --internal out"},
		"masquerade":  {option("masquerade", "true"), heddle.BadOption, "leave it out"},
		"table":       {option("table", "auto"), heddle.BadOption, "--opt table"},
		"next hop":    {option("next-hop", "10.70.0.1"), heddle.BadOption, "--opt next-hop"},
		"engines":     {option("engines", "true"), heddle.BadOption, "leave it out"},
		"too many":    {option("warm", "257"), heddle.BadOption, "how many"},
		"no number":   {option("warm", "2-8"), heddle.BadOption, "how many"},
		"a bad name":  {option("plug", "a b"), heddle.BadName, "a name"},
		"no networks": {func(n *heddle.Network) { n.Options = map[string]string{"warm": "2"} }, heddle.BadOption, "--opt plug=NETWORK"},
	} {
		n := pluggedNetwork()
		x.change(&n)
		err := Mode{}.Check(facts, n)
		if x.code == "" && err != nil || x.code != "" && (x.code.In(err) == nil || !strings.Contains(heddle.RemedyOf(err), x.remedy)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlugged: what endpoints on a NIC share is the same in their plans, and endpoints on different NICs have nothing in common but the network's. What an endpoint
// sends leaves by the table of its NIC, whose last way is none.
func TestPlugged(t *testing.T) {
	n := pluggedNetwork()
	network, err := Mode{}.Network(heddle.HostFacts{}, n)
	if err != nil || len(network.Host.Routes) > 0 || len(network.Host.Rules) != 2 || slices.ContainsFunc(network.Host.Rules, func(r heddle.Rule) bool { return !r.OnlyGrouped }) {
		t.Errorf("%+v, %+v, %v", network.Host.Routes, network.Host.Rules, err)
	}
	endpoint := func(name string, nic, last string, gateways ...netip.Addr) heddle.Plan {
		t.Helper()
		on := &heddle.ParentNIC{Name: "eth" + nic, MAC: heddle.MAC("0a:00:00:00:00:0" + nic), Gateways: gateways, Closed: prefixes("100.100.100.200/32"),
			Routed: &heddle.RoutedNIC{Addrs: prefixes("10.70.0.10"+nic+"/24", "fd70::10"+nic+"/64"), Table: heddle.ParentTables + int(nic[0])}}
		id := heddle.EndpointID{Container: name, IfName: "eth0"}
		p, err := Mode{}.Endpoint(heddle.HostFacts{}, n, heddle.Endpoint{ID: id, MTU: 1500, MAC: id.DefaultMAC(n.ID, 0), DefaultRoute: true, Addrs: prefixes("10.70.0."+last+"/24", "fd70::"+last+"/64"), Parent: on})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b, z := endpoint("a", "1", "21", netip.MustParseAddr("10.70.0.1"), netip.MustParseAddr("fd70::1")),
		endpoint("b", "1", "22", netip.MustParseAddr("10.70.0.1"), netip.MustParseAddr("fd70::1")), endpoint("z", "2", "23")
	if _, conflicts := a.Host.Union(b.Host); len(conflicts) > 0 {
		t.Errorf("endpoints on one NIC conflict: %v", conflicts)
	}
	add, _ := heddle.Delta(a.Host, b.Host)
	if len(add.Rules) != 2 || len(add.Proxies) != 2 || len(add.Routes) != 2 {
		t.Errorf("a second endpoint on a NIC adds %+v, %+v, %+v", add.Rules, add.Proxies, add.Routes)
	}
	common := map[string]bool{}
	for _, o := range a.Host.Objects() {
		common[o.Key()] = true
	}
	for _, o := range z.Host.Objects() {
		if key := o.Key(); common[key] && !strings.HasPrefix(key, "sysctl/net/ipv6/conf/all/") {
			t.Errorf("endpoints on two NICs share %s", key)
		}
	}
	for name, p := range map[string]heddle.Plan{"with gateways": a, "without": z} {
		ways, ends := 0, 0
		for _, r := range p.Host.Routes {
			switch {
			case r.Table == 0 && (r.Dst.Bits() == 0 || !r.Dst.IsSingleIP()):
				t.Errorf("%s: the host's own table gets %s", name, r)
			case r.Dst.Bits() == 0 && r.Via.IsValid():
				ways++
			case r.Dst.Bits() == 0 && r.Type != "":
				ends++
			}
		}
		if ends != 2 || (name == "without") != (ways == 0) {
			t.Errorf("%s: %d default routes, %d ends: %v", name, ways, ends, p.Host.Routes)
		}
	}
}
