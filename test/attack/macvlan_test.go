package attack_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/macvlan"
	"github.com/heddle-network/heddle/test/world"
)

const isMacvlan = "macvlan"

// unseen is why nothing on the host prevents what macvlan neighbours do.
const unseen = "no rule on the host sees what passes between macvlan neighbours; only the LAN's switch could stop it"

// admitted are the attacks that succeed among macvlan neighbours.
var admitted = []string{
	"stranger's MAC", "neighbour's MAC", "VLAN tag", "unknown ethertype", "LLC and SNAP", "broadcast",
	"ARP reply for the gateway", "ARP reply for a neighbour", "gratuitous ARP for the victim",
	"neighbour's IPv4", "neighbour's IPv6", "outside's IPv4", "NA for the gateway", "NA for a neighbour",
	"100 RA to a neighbour", "RA behind a fragment", "redirect", "ICMP redirect as the gateway",
	"DHCP offer", "DHCPv6 advertisement", "IGMP query", "another MAC set", "neighbour's address set",
}

// kept are those that the host prevents there too, and what besides the guard
// stands in their way: for the host's own device beside the containers.
var kept = map[string]func(s *scene) string{
	"another network over IPv4": open, "another network over IPv6": open,
	"another network's gateway": openGates, "another network's IPv6 gateway": openGates,
	"loopback over UDP":                  onShim("ipv4/conf/%s/route_localnet=1"),
	"loopback over TCP":                  onShim("ipv4/conf/%s/route_localnet=1"),
	"100 RA to the host":                 onShim("ipv6/conf/%s/accept_ra=2"),
	"neighbours made up in ARP requests": onShim("ipv4/conf/%s/arp_filter=0"),
}

func onShim(setting string) func(s *scene) string {
	return func(s *scene) string { return "sysctl -qw net/" + fmt.Sprintf(setting, s.port()) }
}

// macvlanAttacks are those of the other modes that make sense on a LAN.
func macvlanAttacks(others []attack) []attack {
	var all []attack
	for _, a := range others {
		a.modes = isMacvlan
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
			all = append(all, a)
		}
	}
	return all
}

// newLAN is the scene of mode macvlan: all are neighbours on the LAN, but for
// one on a bridge.
func newLAN(t *testing.T) *scene {
	t.Helper()
	s := &scene{w: world.New(t), mode: isMacvlan}
	lan := func(n *heddle.Network) {
		n.Subnets = nil
		n.Ranges = []netip.Prefix{netip.MustParsePrefix("192.0.2.128/25"), netip.MustParsePrefix("2001:db8::1:0/112")}
	}
	n, _, err := s.w.CreateNetwork(s.w.Plan("net", isMacvlan, lan), false)
	if err != nil {
		t.Skipf("no macvlan here: %v", err)
	}
	s.net, s.far = n, s.w.Network(t, "far", "bridge")
	s.attacker, s.victim = s.w.Pod(t, "attacker", "net"), s.w.Pod(t, "victim", "net")
	s.witness, s.rogue = s.w.Pod(t, "witness", "net"), s.w.Pod(t, "rogue", "net")
	s.other = s.w.Pod(t, "other", "far")
	s.shim = macOf(t, s.w.Host, s.port())
	s.listen(t)
	for _, a := range append(s.attacker.Addrs(), s.witness.Addrs()...) {
		s.victim.Reaches(t, a)
	}
	return s
}

// TestLimitsTold: what the mode cannot prevent is told when a network is shown.
func TestLimitsTold(t *testing.T) {
	told := strings.Join(macvlan.Mode{}.Limits(heddle.Network{Mode: isMacvlan, Parent: "lan0"}), "\n")
	for _, words := range []string{"no guard", "MAC, IP, ARP, ND", "router advertisements", "DHCP", "only the LAN's switch"} {
		if !strings.Contains(told, words) {
			t.Errorf("%q is not told: %s", words, told)
		}
	}
}
