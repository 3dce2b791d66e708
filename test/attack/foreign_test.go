package attack_test

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// foreignAttacks get by what other firewalls, or their user, say of our packets.
func foreignAttacks() []ownAttack {
	const modes = "bridge routed overlay"
	all := []ownAttack{
		{class: "metadata", name: "metadata service, which the guide's rules drop", modes: modes + " macvlan ipvlan", mount: byUserRule(guideRules)},
		{class: "metadata", name: "metadata service, which a rule in the forward chain drops", modes: "macvlan ipvlan",
			limit: "what a container of these modes sends leaves by its parent without the host's forward chain: a chain at the parent's egress sees it (docs/guides/other-firewalls.md)",
			mount: pastForwardRule},
		{class: "metadata", name: "metadata service, which iptables -A drops", modes: modes, mount: byUserRule(func(string) string {
			return fmt.Sprintf("iptables-nft -A FORWARD -d %s -j DROP; ip6tables-nft -A FORWARD -d %s -j DROP", metadata4, metadata6)
		})},
		{class: "isolation", name: "unpublished ports of another engine's containers", modes: modes, mount: toEngine},
	}
	for _, sub := range routedByHost {
		all = append(all, ownAttack{class: "metadata", name: "metadata service, which the guide's rules drop, in sub-mode " + sub, modes: isIPvlan,
			mount: byUserRule(guideRules, inSubMode(sub))})
	}
	return all
}

// routedByHost are the sub-modes of ipvlan in which the host routes for the containers.
var routedByHost = []string{"l3", "l3s"}

func inSubMode(sub string) world.NetworkOption { return world.With("ipvlan_mode=" + sub) }

// Metadata services, of EC2 and others.
var (
	metadata4 = netip.MustParseAddr("169.254.169.254")
	metadata6 = netip.MustParseAddr("fd00:ec2::254")
)

// blanket is a host's firewall that lets nothing through which is not named: one of
// its user's, and iptables as dockerd leaves it.
const blanket = `nft 'table inet local { chain forward { type filter hook forward priority filter; policy drop; ct state established,related accept; }; }'
	for p in iptables-nft ip6tables-nft; do $p -P FORWARD DROP; done`

// lanRanges are the addresses of containers that are on the host's LAN.
var lanRanges = []netip.Prefix{netip.MustParsePrefix("192.0.2.128/25"), netip.MustParsePrefix("2001:db8::1:0/112")}

// What the guide has a user type, for modes that use the host's stack and for those
// that pass it by.
const (
	stackRules = `nft -f - <<'RULES'
table inet local {
	chain forward {
		type filter hook forward priority filter; policy accept;
		ip daddr 169.254.169.254 drop
		ip6 daddr fd00:ec2::254 drop
	}
}
RULES`
	parentRules = `nft -f - <<'RULES'
table netdev local {
	chain egress {
		type filter hook egress device "eth0" priority 0; policy accept;
		ip saddr 10.0.0.0/24 ip daddr 169.254.169.254 drop
		ip6 saddr fd00:10::/64 ip6 daddr fd00:ec2::254 drop
	}
}
RULES`
)

// guideRules are those for the mode.
func guideRules(mode string) string {
	if mode != isMacvlan && mode != isIPvlan {
		return stackRules
	}
	return strings.NewReplacer("eth0", "up0", "10.0.0.0/24", lanRanges[0].String(), "fd00:10::/64", lanRanges[1].String()).Replace(parentRules)
}

// TestGuideRules keeps the guide in step.
func TestGuideRules(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/other-firewalls.md")
	cell.Must(t, err)
	for _, rules := range []string{stackRules, parentRules} {
		if !strings.Contains(string(text), "\n```sh\n"+rules+"\n```\n") {
			t.Errorf("the guide does not have\n%s", rules)
		}
	}
}

// foreignScene is a container behind such a firewall.
func foreignScene(t *testing.T, mode string, options ...world.NetworkOption) (*world.World, *world.Pod) {
	t.Helper()
	w := world.New(t)
	if mode == isMacvlan || mode == isIPvlan {
		options = append(options, onLAN)
	}
	n, _, err := w.CreateNetwork(w.Plan("net", mode, options...), false)
	made(t, mode, err)
	if mode == "routed" {
		w.RouteToPods(t, n)
	}
	if slices.Contains(routedByHost, n.Options["ipvlan_mode"]) {
		w.Outside.Sh(t, "ip route add %s via %s; ip route add %s via %s", lanRanges[0], world.Host4, lanRanges[1], world.Host6)
		t.Cleanup(func() { w.Outside.TrySh("ip route del %s; ip route del %s", lanRanges[0], lanRanges[1]) })
	}
	p := w.Pod(t, "attacker", "net")
	w.Host.Sh(t, blanket)
	t.Cleanup(func() {
		for _, table := range []string{"inet local", "netdev local", "ip filter", "ip6 filter"} {
			w.Host.TrySh("nft delete table " + table)
		}
	})
	return w, p
}

// metadataScene is a container that could call the metadata services, were it not for
// the rules that the host's user has given.
func metadataScene(t *testing.T, mode, rules string, options ...world.NetworkOption) world.Netns {
	w, p := foreignScene(t, mode, options...)
	w.Outside.Sh(t, "ip address add %s/32 dev lo; ip address add %s/128 dev lo nodad", metadata4, metadata6)
	w.Outside.Serve(t, 80, metadata4, metadata6, world.Outside4, world.Outside6)
	w.Host.Sh(t, "%s", rules)
	p.Gets(t, "outside", 80, world.Outside4, world.Outside6) // once ours are admitted
	return p.Netns
}

// byUserRule calls a metadata service although the user has a rule against it; open,
// without the rule.
func byUserRule(rules func(mode string) string, options ...world.NetworkOption) func(t *testing.T, mode string, open bool) bool {
	return func(t *testing.T, mode string, open bool) bool {
		text := rules(mode)
		if open {
			text = "true"
		}
		p := metadataScene(t, mode, text, options...)
		works := func() bool { return callsOn(p, open, metadata4, metadata6) }
		if open {
			return within(world.Patience, works)
		}
		// ours may stand before the user's for as long as the agent needs to notice;
		// then none gets through any more
		refused := 0
		return !within(world.RepairTime, func() bool {
			if refused++; works() {
				refused = 0
			}
			return refused == 3
		})
	}
}

// pastForwardRule calls one that the user's forward chain drops.
func pastForwardRule(t *testing.T, mode string, _ bool) bool {
	p := metadataScene(t, mode, stackRules)
	return within(world.Patience, func() bool { return callsOn(p, true, metadata4, metadata6) })
}

// toEngine calls a container of dockerd's (20.10) at a port that it does not publish;
// open, from a network that may.
func toEngine(t *testing.T, mode string, open bool) bool {
	var options []world.NetworkOption
	if open {
		options = append(options, world.With(firewall.OptionEngines+"=true"))
	}
	w, p := foreignScene(t, mode, options...)
	engine := world.NewNetns(t, "engine")
	v4, v6 := netip.MustParseAddr("172.17.0.2"), netip.MustParseAddr("fd17::2")
	w.Host.Sh(t, `ip link add docker0 type bridge; ip link set docker0 up; ip address add 172.17.0.1/16 dev docker0; ip address add fd17::1/64 dev docker0 nodad
		ip link add veth0 master docker0 type veth peer name eth0 netns engine; ip link set veth0 up
		for p in iptables-nft ip6tables-nft; do
			$p -A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
			$p -A FORWARD -i docker0 ! -o docker0 -j ACCEPT
		done`)
	t.Cleanup(func() { w.Host.TrySh("ip link delete docker0; ip link delete veth0") })
	engine.Sh(t, `ip link set lo up; ip link set eth0 up; ip address add %s/16 dev eth0; ip address add %s/64 dev eth0 nodad
		ip route add default via 172.17.0.1; ip -6 route add default via fd17::1`, v4, v6)
	engine.Serve(t, 80, v4, v6)
	w.Host.Gets(t, "engine", 80, v4, v6)
	w.Outside.Serve(t, 80, world.Outside4, world.Outside6)
	p.Gets(t, "outside", 80, world.Outside4, world.Outside6) // once ours are admitted
	return callsOn(p.Netns, open, v4, v6) || open && within(world.Patience, func() bool { return callsOn(p.Netns, true, v4, v6) })
}

// callsOn reports whether the service on port 80 of one of the addresses answers or, if
// they should, of all.
func callsOn(from world.Netns, should bool, at ...netip.Addr) bool {
	count := 0
	for _, a := range at {
		if _, err := from.AskFrom("tcp", netip.AddrPort{}, netip.AddrPortFrom(a, 80), 5*world.Refusal); err == nil {
			count++
		}
	}
	return count == len(at) || !should && count > 0
}
