// Package mode_test proves the modes: each one's plans, written as commands,
// equal the golden text; the pages under docs/modes are made of that text; and
// (in the namespace tier) the text, run in an empty namespace, leaves the very
// state that package kernel would.
package mode_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/mode"
	"github.com/heddle-network/heddle/mode/bridge"
	"github.com/heddle-network/heddle/mode/direct"
	"github.com/heddle-network/heddle/mode/host"
	"github.com/heddle-network/heddle/mode/ipvlan"
	"github.com/heddle-network/heddle/mode/macvlan"
	"github.com/heddle-network/heddle/mode/parts"
	"github.com/heddle-network/heddle/mode/routed"
)

var update = flag.Bool("update", false, "write the golden texts and the pages under docs/modes")

// variant is one network with one endpoint, whose plans are golden.
type variant struct {
	name, about string
	mode        heddle.Mode
	network     heddle.Network
	endpoint    heddle.Endpoint
	fabric      *heddle.Fabric
	resolves    bool
}

// facts are those of a host with one uplink of MTU 1400 and a second NIC.
var facts = heddle.HostFacts{Name: "demo", Links: []heddle.LinkFact{
	{Name: "lan0", MTU: 1400, MAC: "52:54:00:00:00:01", Up: true, Addrs: prefixes("192.0.2.10/24", "2001:db8::10/64"),
		Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}},
	{Name: "lan1", MTU: 1300, MAC: "52:54:00:00:00:02", Up: true, Addrs: prefixes("198.51.100.10/24")},
}}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, s := range texts {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

func demo(mode string, change func(*heddle.Network, *heddle.Endpoint)) (heddle.Network, heddle.Endpoint) {
	n := heddle.Network{ID: "00000000000000aa", Name: "demo", Mode: mode, Subnets: prefixes("10.20.0.0/24", "fd20::/64"),
		Gateways: []netip.Addr{netip.MustParseAddr("10.20.0.1"), netip.MustParseAddr("fd20::1")}}
	id := heddle.EndpointID{Container: "web", IfName: "eth0"}
	e := heddle.Endpoint{ID: id, Network: n.ID, NetworkName: n.Name, Netns: "pod", Addrs: prefixes("10.20.0.2/24", "fd20::2/64"),
		MAC: id.DefaultMAC(n.ID, 0), DefaultRoute: true, Ports: []heddle.PortMapping{
			{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"},
			{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: 5353, ContainerPort: 53, Protocol: "udp"}}}
	if change != nil {
		change(&n, &e)
	}
	e.MTU = parts.ResolveMTU(facts, n)
	return n, e
}

func variants() []variant {
	var all []variant
	add := func(m heddle.Mode, name, about string, change func(*heddle.Network, *heddle.Endpoint)) {
		n, e := demo(m.Name(), change)
		all = append(all, variant{name: name, about: about, mode: m, network: n, endpoint: e})
	}
	add(host.Mode{}, "host", "Nothing is made.", func(n *heddle.Network, e *heddle.Endpoint) {
		*n = heddle.Network{ID: n.ID, Name: n.Name, Mode: n.Mode}
		*e = heddle.Endpoint{ID: e.ID, Network: n.ID, NetworkName: n.Name}
	})
	add(bridge.Mode{}, "bridge", "A dual-stack network, and an endpoint with two published ports.", nil)
	add(bridge.Mode{}, "bridge-internal", "An internal network (`--internal`), IPv4 only.", func(n *heddle.Network, e *heddle.Endpoint) {
		n.Internal, n.Subnets, n.Gateways = true, n.Subnets[:1], n.Gateways[:1]
		e.Addrs, e.Ports = e.Addrs[:1], nil
	})
	add(bridge.Mode{}, "bridge-shard", "The 801st endpoint of a large network, on the network's second bridge.", func(n *heddle.Network, e *heddle.Endpoint) {
		e.Slot, e.Ports = 800, nil
	})
	add(bridge.Mode{}, "bridge-tap", "A virtual machine's port on a dual-stack network (`--tap`).", func(_ *heddle.Network, e *heddle.Endpoint) {
		e.TAP, e.Netns, e.Ports = true, "", nil
	})
	add(routed.Mode{}, "routed", "A dual-stack network, and an endpoint with two published ports.", nil)
	add(routed.Mode{}, "routed-table", "A network on a second NIC with a routing table of its own (`--parent lan1 --opt table=auto --opt next-hop=198.51.100.1+2001:db8:1::1`).", func(n *heddle.Network, e *heddle.Endpoint) {
		n.Parent, n.Options = "lan1", map[string]string{"table": "auto", "next-hop": "198.51.100.1+2001:db8:1::1"}
		e.Ports = nil
	})
	add(routed.Mode{}, "routed-plugged", "A NIC that was plugged in, and an endpoint with one of its addresses (`--opt plug=lan --subnet 198.51.100.0/24 --subnet 2001:db8:1::/64`).", func(n *heddle.Network, e *heddle.Endpoint) {
		n.Subnets, n.Gateways, n.Options = prefixes("198.51.100.0/24", "2001:db8:1::/64"), nil, map[string]string{"plug": "lan"}
		e.Addrs, e.Ports = prefixes("198.51.100.11/24", "2001:db8:1::11/64"), nil
		e.Parent = &heddle.ParentNIC{Name: "lan1", MAC: "52:54:00:00:00:02", MTU: 1300, Token: "p-1", Closed: prefixes("100.100.100.200/32"),
			Gateways: []netip.Addr{netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("2001:db8:1::1")},
			Routed:   &heddle.RoutedNIC{Addrs: prefixes("198.51.100.10/24", "2001:db8:1::10/64"), Table: heddle.ParentTables}}
	})
	lan := func(n *heddle.Network, e *heddle.Endpoint) {
		n.Parent, n.Subnets, n.Gateways = "lan0", prefixes("192.0.2.0/24", "2001:db8::/64"), facts.Links[0].Gateways
		e.Addrs, e.Ports = prefixes("192.0.2.130/24", "2001:db8::130/64"), nil
	}
	add(macvlan.Mode{}, "macvlan", "A dual-stack network on the LAN of the default route (`--ip-range 192.0.2.128/25`).", lan)
	all[len(all)-1].resolves = true
	add(macvlan.Mode{}, "macvlan-private", "Sub-mode private, on a second NIC, as a container's second network (IPv4 only).", func(n *heddle.Network, e *heddle.Endpoint) {
		n.Parent, n.Subnets, n.Gateways = "lan1", prefixes("198.51.100.0/24"), nil
		n.Options = map[string]string{"macvlan_mode": "private"}
		e.ID.IfName, e.Addrs, e.Ports, e.DefaultRoute = "eth1", prefixes("198.51.100.130/24"), nil, false
		e.MAC = e.ID.DefaultMAC(n.ID, 0)
	})
	byDHCP := func(n *heddle.Network, e *heddle.Endpoint) {
		lan(n, e)
		n.Subnets, n.Gateways, n.Options = nil, nil, map[string]string{heddle.OptionAddresses: heddle.AddressesDHCP}
		*e = e.WithDHCP(heddle.DHCPLease{Held: true, Address: e.Addrs[0], Router: netip.MustParseAddr("192.0.2.254")})
	}
	add(macvlan.Mode{}, "macvlan-dhcp", "Addresses from the LAN's DHCP server (`--opt addresses=dhcp`), with the lease of an endpoint.", byDHCP)
	add(macvlan.Mode{}, "macvlan-ipv6", "IPv6 addresses as the LAN's routers say, too (`--opt addresses=dhcp --opt ipv6=auto`): one of SLAAC, one of DHCPv6.", func(n *heddle.Network, e *heddle.Endpoint) {
		lan(n, e)
		n.Subnets, n.Gateways, n.Options = nil, nil, map[string]string{heddle.OptionAddresses: heddle.AddressesDHCP, heddle.OptionIPv6: heddle.IPv6Auto}
		*e = e.WithDHCP(heddle.DHCPLease{Held: true, Address: e.Addrs[0], Router: netip.MustParseAddr("192.0.2.254"), IPv6: &heddle.LANIPv6{
			Router: netip.MustParseAddr("fe80::1"), Addresses: []heddle.LANAddress{{Address: e.Addrs[1], Source: heddle.SourceSLAAC},
				{Address: netip.MustParsePrefix("2001:db8::5/64"), Source: heddle.SourceDHCPv6}}}})
	})
	all[len(all)-1].resolves = true
	add(ipvlan.Mode{}, "ipvlan", "A dual-stack network on a second NIC, with services (`--parent lan1 --subnet 192.0.2.0/24 --subnet 2001:db8::/64 --opt services=10.96.0.0/12,fd00:96::/112`).", func(n *heddle.Network, e *heddle.Endpoint) {
		lan(n, e)
		n.Parent, n.Options = "lan1", map[string]string{"services": "10.96.0.0/12,fd00:96::/112"}
	})
	add(ipvlan.Mode{}, "ipvlan-uplink", "A network on the NIC that has the node's own address.", lan)
	all[len(all)-1].resolves = true
	add(ipvlan.Mode{}, "ipvlan-dhcp", "Addresses from the LAN's DHCP server (`--opt addresses=dhcp`), with the lease of an endpoint.", byDHCP)
	add(ipvlan.Mode{}, "ipvlan-l3", "Sub-mode l3 (IPv4 only).", func(n *heddle.Network, e *heddle.Endpoint) {
		lan(n, e)
		n.Subnets, n.Gateways, e.Addrs = n.Subnets[:1], n.Gateways[:1], e.Addrs[:1]
		n.Options = map[string]string{"ipvlan_mode": "l3"}
	})
	add(direct.Mode{}, "direct", "A NIC with its own addresses and routes (`--parent lan1`).", func(n *heddle.Network, e *heddle.Endpoint) {
		giveNIC(n, e)
		n.Subnets, n.Gateways, e.Addrs = nil, nil, nil
	})
	all = append(all, overlays()...)
	add(direct.Mode{}, "direct-subnet", "A NIC with an address of the network (`--parent lan1 --subnet 10.20.0.0/24 --subnet fd20::/64`).", giveNIC)
	return all
}

// giveNIC gives the endpoint the host's second NIC, as it was.
func giveNIC(n *heddle.Network, e *heddle.Endpoint) {
	n.Parent, e.Ports, e.MAC = "lan1", nil, "52:54:00:00:00:02"
	v6, gateway := netip.MustParseAddr("2001:db8:1::1"), netip.MustParseAddr("198.51.100.1")
	e.NIC = &heddle.NIC{Name: "lan1", MAC: e.MAC, Was: heddle.NICState{MTU: 1300, Up: true,
		Addrs: []heddle.NICAddress{{Prefix: netip.MustParsePrefix("198.51.100.10/24")}, {Prefix: netip.MustParsePrefix("2001:db8:1::10/64")}},
		Routes: []heddle.NICRoute{
			{Dst: netip.MustParsePrefix("0.0.0.0/0"), Type: 1, Table: 254, Protocol: 3, Via: gateway, Metric: 100},
			{Dst: netip.MustParsePrefix("203.0.113.0/24"), Type: 1, Table: 51, Protocol: 3, Via: gateway},
			{Dst: netip.MustParsePrefix("2001:db8:f::/48"), Type: 1, Table: 254, Protocol: 3, Via: v6, Metric: 1024},
		}}}
}

func (v variant) plans(t *testing.T) (network, endpoint heddle.Plan) {
	t.Helper()
	facts := facts
	facts.Fabric, facts.Resolves = v.fabric, v.resolves
	if err := v.mode.Check(facts, v.network); err != nil {
		t.Fatal(err)
	}
	network, err := v.mode.Network(facts, v.network)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err = v.mode.Endpoint(facts, v.network, v.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return network, endpoint
}

func (v variant) text(t *testing.T) string {
	network, endpoint := v.plans(t)
	var b bytes.Buffer
	if r, ok := v.mode.(heddle.Reacher); ok && v.fabric != nil {
		way := r.Reach(heddle.HostFacts{Name: facts.Name, Links: facts.Links, Fabric: v.fabric})
		fmt.Fprintln(&b, "# the way to other hosts")
		for _, c := range commands.Of(way, "pod") {
			fmt.Fprintln(&b, c)
		}
		network.Host = without(network.Host, way.Host)
	}
	fmt.Fprintln(&b, "# the network")
	for _, c := range commands.Of(network, "pod") {
		fmt.Fprintln(&b, c)
	}
	fmt.Fprintln(&b, "# the endpoint")
	for _, c := range commands.Of(endpoint, "pod") {
		fmt.Fprintln(&b, c)
	}
	return b.String()
}

// without leaves out what another plan has made.
func without(s, made heddle.State) heddle.State {
	have := map[string]bool{}
	for _, o := range made.Objects() {
		have[o.Key()] = true
	}
	return s.Filter(func(o heddle.Object) bool { return !have[o.Key()] })
}

func TestGolden(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			compare(t, filepath.Join("testdata", v.name+".golden"), v.text(t))
		})
	}
}

// TestPages makes the page of each mode from its prose and its golden texts.
func TestPages(t *testing.T) {
	pages := map[string]string{}
	for _, v := range variants() {
		name := v.mode.Name()
		if pages[name] == "" {
			prose, err := os.ReadFile(filepath.Join(name, "page.md"))
			if err != nil {
				t.Fatal(err)
			}
			pages[name] = string(prose) + "\n## What is made\n\nThis text is made from the mode's plans, and a test runs it.\n`pod` is the container's network namespace.\n"
		}
		pages[name] += fmt.Sprintf("\n### %s\n\n%s\n\n```sh\n%s```\n", v.name, v.about, v.text(t))
	}
	for name, page := range pages {
		compare(t, filepath.Join("..", "docs", "modes", name+".md"), page)
	}
	for _, m := range mode.All() {
		for _, o := range m.About().Options {
			if !strings.Contains(pages[m.Name()], "--opt "+o.Name+"=") {
				t.Errorf("the page of mode %s does not name its option %s", m.Name(), o.Name)
			}
		}
	}
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (go test ./mode -update writes it anew):\n%s", path, diff)
	}
}
