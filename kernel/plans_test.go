package kernel

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/bridge"
	"github.com/heddle-network/heddle/mode/direct"
	"github.com/heddle-network/heddle/mode/ipvlan"
	"github.com/heddle-network/heddle/mode/macvlan"
	"github.com/heddle-network/heddle/mode/overlay"
	"github.com/heddle-network/heddle/mode/routed"
	"github.com/heddle-network/heddle/test/cell"
)

// scenario is a network and its endpoints, as the modes plan them.
type scenario struct {
	name     string
	mode     heddle.Mode
	network  heddle.Network
	facts    heddle.HostFacts
	netPlan  heddle.Plan
	endpoint func(i int) heddle.Plan
}

func scenarios(t testing.TB) []scenario {
	all := []scenario{
		newScenario(t, "bridge", bridge.Mode{}, nil, 0),
		newScenario(t, "shard", bridge.Mode{}, nil, 768),
		newScenario(t, "direct", direct.Mode{}, map[string]string{"nics": "nic0,nic1"}, 0),
		newScenario(t, "routed", routed.Mode{}, map[string]string{"table": "auto", "next-hop": "198.51.100.1+2001:db8:1::1"}, 0),
		newScenario(t, "plugged", routed.Mode{}, map[string]string{"plug": "lan"}, 0),
		newScenario(t, "macvlan", macvlan.Mode{}, nil, 0),
		newScenario(t, "private", macvlan.Mode{}, map[string]string{"macvlan_mode": "private"}, 0),
		newScenario(t, "overlay", overlay.Mode{}, nil, 0),
	}
	if hasIPvlan(t) {
		all = append(all, newScenario(t, "ipvlan", ipvlan.Mode{}, map[string]string{"services": "10.96.0.0/12,fd00:96::/112", "redirect": "u32"}, 0))
	}
	return all
}

// hasIPvlan tries whether this kernel has ipvlan: not all have.
func hasIPvlan(t testing.TB) bool {
	r := newRoom(t)
	out := r.sh("ip link add try0 type veth peer name try1; ip link add link try0 name try2 type ipvlan 2>&1 || true")
	return out == ""
}

func newScenario(t testing.TB, name string, mode heddle.Mode, options map[string]string, firstSlot int) scenario {
	t.Helper()
	return newSizedScenario(t, name, mode, options, firstSlot, 1400, true)
}

// newSizedScenario is newScenario with an MTU, and with both families or only IPv4.
func newSizedScenario(t testing.TB, name string, mode heddle.Mode, options map[string]string, firstSlot, size int, dual bool) scenario {
	t.Helper()
	s := scenario{name: name, mode: mode}
	parent, mtu := "up0", size
	if mode.Name() == "direct" {
		parent, mtu = "", 0
	}
	s.network = heddle.Network{ID: "00000000000000aa", Name: "demo", Mode: mode.Name(), MTU: mtu, Parent: parent, Options: options,
		Subnets:  []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16"), netip.MustParsePrefix("fd20::/64")},
		Gateways: []netip.Addr{netip.MustParseAddr("10.20.0.1"), netip.MustParseAddr("fd20::1")}}
	s.facts = heddle.HostFacts{Name: "h", Links: []heddle.LinkFact{{Name: "up0", MTU: 1500, MAC: "02:00:00:00:00:01", Up: true,
		Addrs: []netip.Prefix{netip.MustParsePrefix("198.51.100.2/24")}, Gateways: []netip.Addr{netip.MustParseAddr("198.51.100.1")}},
		{Name: "nic0", MAC: nicMAC(0)}, {Name: "nic1", MAC: nicMAC(1)}}}
	if mode.Name() == "overlay" {
		s.network.Parent, s.facts.Fabric = "", newFabric(s.network)
	}
	var shared *heddle.ParentNIC
	if options["plug"] != "" {
		shared = &heddle.ParentNIC{Name: "up0", MAC: "02:00:00:00:00:01", MTU: 1500, Closed: []netip.Prefix{netip.MustParsePrefix("100.100.100.200/32")}, Gateways: s.network.Gateways,
			Routed: &heddle.RoutedNIC{Table: heddle.ParentTables, Addrs: []netip.Prefix{netip.MustParsePrefix("10.20.255.1/16"), netip.MustParsePrefix("fd20::ff01/64")}}}
		s.network.Parent, s.network.Gateways = "", nil
	}
	ports := 2
	if mode.Name() == "macvlan" || mode.Name() == "ipvlan" { // the LAN's own subnet and router, and no ports to publish
		ports = 0
		s.network.Subnets = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:1::/64")}
		s.network.Gateways = []netip.Addr{netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("2001:db8:1::1")}
		s.facts.Links[0].Addrs = append(s.facts.Links[0].Addrs, netip.MustParsePrefix("2001:db8:1::2/64"))
	}
	families := 2
	if !dual {
		families = 1
		s.network.Subnets, s.network.Gateways = s.network.Subnets[:1], s.network.Gateways[:1]
	}
	cell.Must(t, mode.Check(s.facts, s.network))
	var err error
	s.netPlan, err = mode.Network(s.facts, s.network)
	cell.Must(t, err)
	if r, ok := mode.(heddle.Reacher); ok {
		s.netPlan.Host = joined(t, r.Reach(s.facts).Host, s.netPlan.Host)
	}
	s.endpoint = func(i int) heddle.Plan {
		id := heddle.EndpointID{Container: fmt.Sprintf("c%d", i), IfName: "eth0"}
		four := netip.AddrFrom4([4]byte{10, 20, byte((i + 2) >> 8), byte(i + 2)})
		six := netip.MustParseAddr(fmt.Sprintf("fd20::%x", i+2))
		bits := 16
		if ports == 0 {
			four, bits = netip.AddrFrom4([4]byte{198, 51, 100, byte(i + 128)}), 24
			six = netip.MustParseAddr(fmt.Sprintf("2001:db8:1::%x", i+128))
		}
		nic := heddle.NIC{Name: fmt.Sprintf("nic%d", i), MAC: nicMAC(i),
			Was: heddle.NICState{Kind: "veth", MTU: 1500, QueueLen: 1000}}
		mac := id.DefaultMAC(s.network.ID, 0)
		if mode.Name() == "direct" {
			mac = nic.MAC
		}
		published := []heddle.PortMapping{
			{HostPort: uint16(10000 + i), ContainerPort: 80, Protocol: "tcp"},
			{HostIP: netip.MustParseAddr("198.51.100.2"), HostPort: uint16(10000 + i), ContainerPort: 53, Protocol: "udp"}}
		servers := []netip.Addr{netip.MustParseAddr("203.0.113.53"), netip.MustParseAddr("2001:db8:f::53")}
		p, err := mode.Endpoint(s.facts, s.network, heddle.Endpoint{ID: id, NIC: &nic, Parent: shared, Network: s.network.ID, NetworkName: "demo", MTU: size,
			MAC: mac, Addrs: []netip.Prefix{netip.PrefixFrom(four, bits), netip.PrefixFrom(six, 64)}[:families],
			Slot: firstSlot + i, DefaultRoute: true, Ports: published[:ports], NameServers: servers[:families]})
		cell.Must(t, err)
		return p
	}
	return s
}

// newFabric is a cluster of three hosts, one of which has no IPv4 underlay.
func newFabric(n heddle.Network) *heddle.Fabric {
	host := func(id string, underlay ...string) heddle.Host {
		h := heddle.Host{Name: id, ID: id, MTU: 1500}
		for _, a := range underlay {
			h.Underlay = append(h.Underlay, netip.MustParseAddr(a))
		}
		return h
	}
	f := &heddle.Fabric{Cluster: "test", SoftChecksums: true, VNI: 70, Port: 4789, Networks: []heddle.Network{n}, Self: host("self", "198.51.100.2", "2001:db8:1::2"),
		Peers: []heddle.Host{host("both", "198.51.100.10", "2001:db8:1::10"), host("six", "2001:db8:1::11")}, PathMTU: map[string]int{"six": 1400}}
	for i, owner := range []string{"self", "both", "six"} {
		for k, s := range n.Subnets {
			block := heddle.BlockOf(s, s.Addr())
			for range i {
				block = heddle.BlockOf(s, heddle.LastAddr(block).Next())
			}
			f.Blocks = append(f.Blocks, heddle.Block{Network: n.ID, Prefix: block, Host: owner})
			pin := heddle.Pin{Network: n.ID, Addr: heddle.LastAddr(block).Prev().Prev(), Host: owner}
			if owner == "self" {
				f.Sources = append(f.Sources, pin)
			} else { // each has an address in this host's block
				pin.Addr = netip.MustParseAddr([]string{"10.20.0.20", "fd20::20"}[k])
				for range i {
					pin.Addr = pin.Addr.Next()
				}
				f.Pins = append(f.Pins, pin)
			}
		}
	}
	return f
}

// joined joins two states that do not contradict each other.
func joined(t testing.TB, a, b heddle.State) heddle.State {
	t.Helper()
	union, conflicts := a.Union(b)
	if len(conflicts) > 0 {
		t.Fatal(conflicts)
	}
	return union
}

// uplinkScript gives the host the parent of the scenarios, with its carrier.
const uplinkScript = `ip link add up0 address 02:00:00:00:00:01 type veth peer name wire0 address 02:00:00:00:00:02
ip link set up0 addrgenmode none
ip link set wire0 addrgenmode none
ip address add 198.51.100.2/24 dev up0
ip address add 2001:db8:1::2/64 dev up0 nodad
ip link set up0 up
ip link set wire0 up
tries=0
until ip link show up0 | grep -q 'state UP' && ip link show wire0 | grep -q 'state UP'; do
	tries=$((tries + 1)); [ $tries -lt 300 ]; sleep 0.1
done
ip route add default via 198.51.100.1 dev up0
for i in 0 1; do
	ip link add nic$i address 02:00:00:00:01:0$i type veth peer name far$i
done
`

func nicMAC(i int) heddle.MAC { return heddle.MAC(fmt.Sprintf("02:00:00:00:01:0%d", i)) }

func sysctlNames(plans ...heddle.Plan) []string {
	var names []string
	for _, p := range plans {
		for _, c := range append(p.Host.Sysctls, p.Pod.Sysctls...) {
			names = append(names, c.Name)
		}
	}
	return names
}
