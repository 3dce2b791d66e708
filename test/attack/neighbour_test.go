package attack_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/mode/bridge"
	"github.com/heddle-network/heddle/mode/direct"
	"github.com/heddle-network/heddle/mode/ipvlan"
	"github.com/heddle-network/heddle/mode/macvlan"
	"github.com/heddle-network/heddle/mode/overlay"
	"github.com/heddle-network/heddle/mode/routed"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

const (
	isMacvlan = "macvlan"
	isIPvlan  = "ipvlan"
	isDirect  = "direct"
)

// unseen is why nothing on the host prevents what neighbours on a LAN do.
const unseen = "no rule on the host sees what passes between macvlan neighbours, and from a NIC that the container has; only the LAN's switch could stop it"

// admitted are the attacks that succeed among neighbours on a LAN.
var admitted = []string{
	"stranger's MAC", "neighbour's MAC", "VLAN tag", "unknown ethertype", "LLC and SNAP", "broadcast",
	"ARP reply for the gateway", "ARP reply for a neighbour", "gratuitous ARP for the victim",
	"neighbour's IPv4", "neighbour's IPv6", "outside's IPv4", "NA for the gateway", "NA for a neighbour",
	"100 RA to a neighbour", "RA behind a fragment", "redirect", "ICMP redirect as the gateway",
	"DHCP offer", "DHCPv6 advertisement", "IGMP query", "another MAC set", "neighbour's address set",
	"an end of a neighbour's connection", "an end of a neighbour's connection over IPv6",
}

// kept are those that the host prevents there too, and what besides the guard
// stands in their way: for the host's own device beside the containers.
var kept = map[string]func(s *scene) string{
	"another network over IPv4": open, "another network over IPv6": open,
	"another network's gateway": openGates, "another network's IPv6 gateway": openGates,
	"loopback over UDP":                  onShim("ipv4/conf/%s/route_localnet=1"),
	"loopback over TCP":                  onShim("ipv4/conf/%s/route_localnet=1"),
	"100 RA to the host":                 onShim("ipv6/conf/%s/accept_ra=2"),
	"neighbours made up in ARP requests": onShim("ipv4/conf/%[1]s/arp_filter=0 net/ipv4/conf/%[1]s/rp_filter=0"),
}

func onShim(setting string) func(s *scene) string {
	return func(s *scene) string { return "sysctl -qw net/" + fmt.Sprintf(setting, s.port()) }
}

// neighbourAttacks are those of the other modes that make sense among neighbours
// on a LAN: with macvlan, or with NICs of their own.
func neighbourAttacks(others []attack) []attack {
	var all []attack
	for _, a := range others {
		a.modes = isMacvlan
		if (a.class == "error" || a.class == "tunnel") && strings.Contains(a.name, "the host") {
			a.modes = isMacvlan + " " + isIPvlan
			all = append(all, a)
			continue
		}
		if unguard := kept[a.name]; unguard != nil {
			a.unguard = unguard
			if a.name == "100 RA to the host" || a.reasonRouted == none {
				a.reason = "" // the device does not listen, and the kernel does not count
			}
			a.reasonRouted = ""
			all = append(all, a)
		}
		if slices.Contains(admitted, a.name) {
			a.limit, a.reason, a.unguard = unseen, "", nil
			a.modes = isMacvlan + " " + isDirect
			all = append(all, a)
		}
	}
	return all
}

// newLAN is the scene of modes macvlan and ipvlan: all are neighbours on the LAN, but
// for one on a bridge.
func newLAN(t *testing.T, mode string) *scene {
	t.Helper()
	if cell.Need(t); !hasKind(mode) {
		lacks(t, mode)
	}
	s := &scene{w: world.New(t), mode: mode}
	n, _, err := s.w.CreateNetwork(s.w.Plan("net", mode, onLAN), false)
	cell.Must(t, err)
	s.net, s.far = n, s.w.Network(t, "far", "bridge")
	s.attacker, s.victim = s.w.Pod(t, "attacker", "net"), s.w.Pod(t, "victim", "net")
	s.witness, s.rogue = s.w.Pod(t, "witness", "net"), s.w.Pod(t, "rogue", "net")
	s.other = s.w.Pod(t, "other", "far")
	s.shim = macOf(t, s.w.Host, s.port())
	if mode == isIPvlan { // where all have the parent's
		for _, pod := range []*world.Pod{s.attacker, s.victim, s.witness, s.rogue} {
			pod.Endpoint.MAC = s.shim
		}
	}
	s.listen(t)
	for _, a := range append(s.attacker.Addrs(), s.witness.Addrs()...) {
		s.victim.Reaches(t, a)
	}
	return s
}

// newWire is the scene of mode direct: all have NICs of their own, in one switch.
func newWire(t *testing.T) *scene {
	t.Helper()
	s := &scene{w: world.New(t), mode: isDirect}
	wire := world.NewNetns(t, "wire")
	wire.Sh(t, `ip link add sw type bridge mcast_snooping 0; ip link set sw up
		ip address add 10.60.0.1/24 dev sw; ip address add fd60::1/64 dev sw nodad`)
	nics := []string{"nic1", "nic2", "nic3", "nic4"}
	for _, nic := range nics {
		s.w.Host.Sh(t, "ip link add %s type veth peer name %[1]s netns wire; ip -n wire link set %[1]s master sw up", nic)
		t.Cleanup(func() { s.w.Host.TrySh("ip link del %s", nic) })
	}
	n, _, err := s.w.CreateNetwork(heddle.Network{Name: "net", Mode: isDirect, Options: map[string]string{"nics": strings.Join(nics, ",")},
		Subnets:  []netip.Prefix{netip.MustParsePrefix("10.60.0.0/24"), netip.MustParsePrefix("fd60::/64")},
		Gateways: []netip.Addr{netip.MustParseAddr("10.60.0.1"), netip.MustParseAddr("fd60::1")}}, false)
	if err != nil {
		t.Fatal(err)
	}
	s.net = n
	s.attacker, s.victim = s.w.Pod(t, "attacker", "net"), s.w.Pod(t, "victim", "net")
	s.witness, s.rogue = s.w.Pod(t, "witness", "net"), s.w.Pod(t, "rogue", "net")
	for _, pod := range []*world.Pod{s.attacker, s.victim, s.witness, s.rogue} {
		world.Soon(t, pod.Name+" reaches the LAN", func() error { return pod.Ping(s.net.Gateways[0], "-W1") })
	}
	return s
}

// TestLimitsTold: what the mode cannot prevent is told when a network is shown.
func TestLimitsTold(t *testing.T) {
	for _, c := range []struct {
		mode  heddle.Limiter
		words []string
	}{
		{macvlan.Mode{}, []string{"no guard", "MAC, IP, ARP, ND", "router advertisements", "DHCP", "only the LAN's switch", firewall.LimitUnderlay}},
		{ipvlan.Mode{}, []string{"no guard", firewall.LimitUnderlay}},
		{direct.Mode{}, []string{"sees none", "MAC or IP", "ARP and router advertisement"}},
		{bridge.Mode{}, []string{firewall.LimitMetadata, firewall.LimitTables, firewall.LimitPorts, firewall.LimitFlush}},
		{routed.Mode{}, []string{firewall.LimitMetadata, firewall.LimitTables, firewall.LimitFlush}},
		{overlay.Mode{}, []string{firewall.LimitMetadata, firewall.LimitTables, firewall.LimitPorts, firewall.LimitFlush, "not encrypted", "a host's address"}},
		{ipvlan.Mode{}, []string{"no guard", "forged addresses", "no isolation"}},
	} {
		told := strings.Join(c.mode.Limits(heddle.Network{Parent: "lan0"}), "\n")
		for _, words := range c.words {
			if !strings.Contains(told, words) {
				t.Errorf("%T: %q is not told: %s", c.mode, words, told)
			}
		}
	}
}
