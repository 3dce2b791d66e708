package vpc_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/mode/gateway"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
	"github.com/heddle-network/heddle/vpc"
	"github.com/heddle-network/heddle/vpcroute"
)

// Addresses outside: the host's own on its uplink, and a server's.
var (
	uplinkAddrs  = []netip.Addr{netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("2001:db8:9::1")}
	outsideAddrs = []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8:9::7")}
	everywhere   = []string{"0.0.0.0/0", "::/0"}
)

// internet is what the host reaches: a namespace behind its uplink, which answers as "internet".
func internet(t *testing.T) world.Netns {
	n := world.NewNetns(t, "internet")
	cell.Sh(t, "ip link add up0 type veth peer name eth0 netns internet; ip address add %s/24 dev up0; ip address add %s/64 dev up0 nodad; ip link set up0 up", uplinkAddrs[0], uplinkAddrs[1])
	t.Cleanup(func() { cell.TrySh("ip link delete up0") })
	n.Sh(t, "ip link set lo up; ip address add %s/24 dev eth0; ip address add %s/64 dev eth0 nodad; ip link set eth0 up", outsideAddrs[0], outsideAddrs[1])
	n.Serve(t, port, outsideAddrs...)
	return n
}

func (c *cloud) of() vpc.Agents {
	return func(name string) *client.Client { return c.agents[name].Client }
}

// out leads everything of a VPC to the host.
func (c *cloud) out(in string, destinations ...string) {
	c.t.Helper()
	for _, d := range destinations {
		s, err := vpc.AddRoute(context.Background(), c.of(), in, vpcroute.Route{Destination: netip.MustParsePrefix(d), Host: true})
		if err != nil || s.State != vpcroute.Active {
			c.t.Fatalf("the route of VPC %s to %s is %+v, %v", in, d, s, err)
		}
	}
}

// notOut ends that.
func (c *cloud) notOut(in string, destinations ...string) {
	c.t.Helper()
	for _, d := range destinations {
		if existed, err := vpc.DeleteRoute(context.Background(), c.of(), in, netip.MustParsePrefix(d)); err != nil || !existed {
			c.t.Fatalf("the route of VPC %s to %s is deleted: %v, %v", in, d, existed, err)
		}
	}
}

// sees has a machine ask the internet by TCP, UDP and ping. There it is the host.
func (c *cloud) sees(name string) error {
	m := c.machines[name]
	for i, to := range outsideAddrs {
		for _, proto := range []string{"tcp", "udp"} {
			got, err := m.Ask(proto, netip.AddrPortFrom(to, port))
			if err == nil && (got.Server != "internet" || got.Seen != uplinkAddrs[i]) {
				err = fmt.Errorf("%s answers, and sees %s", got.Server, got.Seen)
			}
			if err != nil {
				return fmt.Errorf("%s asks %s by %s: %w", name, to, proto, err)
			}
		}
		if err := m.Ping(to); err != nil {
			return err
		}
	}
	return nil
}

// same are the addresses of machines of different VPCs.
var same = []netip.Addr{netip.MustParseAddr("10.1.0.5"), netip.MustParseAddr("fd01::5")}

// insides are a VPC's own addresses on its link to the host, gates are the host's.
func (c *cloud) insides(in string) (insides, gates []netip.Addr) {
	c.t.Helper()
	found, err := vpc.FindOut(context.Background(), c.of(), in)
	cell.Must(c.t, err)
	for _, g := range found.Inside.Gateways {
		insides, gates = append(insides, gateway.Inside(g)), append(gates, g)
	}
	if len(gates) != 2 || !found.Whole() {
		c.t.Fatalf("the way out of %s is %+v", in, found)
	}
	return insides, gates
}

// TestOut: by the host, VPCs with the same addresses reach what the host reaches, behind the host's addresses, and nobody begins anything from there.
func TestOut(t *testing.T) {
	c := newCloud(t, []string{"red", "blue", "grey"}, map[string][]string{"r1": {"red/lan"}, "b1": {"blue/lan"}, "h1": {"web"}})
	defer c.end()
	net := internet(t)
	for _, in := range []string{"red", "blue"} {
		c.network(in, "lan", "10.1.0.0/24", "fd01::/64")
	}
	c.network("", "web", "10.9.0.0/24", "fd09::/64")
	for name, network := range map[string]string{"r1": "red/lan", "b1": "blue/lan"} {
		c.plug(name, network, same, everywhere...)
		c.machines[name].Serve(t, port, same...)
	}
	c.plug("h1", "web", nine9, everywhere...)
	c.machines["h1"].Serve(t, port, nine9...)
	before := hostTraces(t)
	r1 := c.machines["r1"]
	r1.Silent(t, outsideAddrs...)

	// what a person could type, and then the command, which finds it done
	shell := "export HEDDLE_SOCKET=" + c.agents[""].Socket + "\n"
	typed := c.heddle(t, shell+"heddle vpc route add red 0.0.0.0/0 --next-hop host --dry-run")
	if after := hostTraces(t); after != before {
		t.Errorf("a dry run has changed the host:\n%s", after)
	}
	c.heddle(t, shell+"%s", typed)
	c.out("red", everywhere...)
	c.out("blue", everywhere...)
	both := func(when string) {
		t.Helper()
		for _, name := range []string{"r1", "b1"} {
			if err := c.sees(name); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
	}
	both("at once")
	audits := func() {
		t.Helper()
		for _, a := range c.agents {
			a.AuditEmpty(t)
		}
	}
	audits()
	t.Run("shown", func(t *testing.T) {
		said := c.heddle(t, shell+"heddle vpc route list red; heddle vpc show red; heddle vpc show red -o json; heddle vpc list; heddle __complete vpc route add red ::/0 --next-hop ''; heddle vpc route add red 0.0.0.0/0 --next-hop host --dry-run; heddle vpc route delete red ::/0 --dry-run")
		for _, want := range []string{"0.0.0.0/0", "active", "by the host, 100.", `"problems": []`, `"host": true`, "\nhost\n"} {
			if !strings.Contains(said, want) {
				t.Errorf("%q is not said:\n%s", want, said)
			}
		}
		if said := c.heddle(t, "heddle vpc list -o json"); strings.Contains(said, "gateway\",") {
			t.Errorf("the way out is among the VPC's networks:\n%s", said)
		}
	})
	t.Run("inside", func(t *testing.T) { outsideSilent(t, c, net) })
	t.Run("apart", func(t *testing.T) { outApart(t, c) })
	t.Run("metadata", func(t *testing.T) { outMetadata(t, c) })
	t.Run("forged", func(t *testing.T) { outForged(t, c, net) })
	t.Run("networks", func(t *testing.T) { outOfNetworks(t, c) })
	t.Run("peer", func(t *testing.T) { notByPeer(t, c, net) })
	t.Run("errors", func(t *testing.T) {
		cell.Sh(t, "ip link set up0 mtu 1300")
		said, _ := r1.TrySh("for to in %s %s; do ping -n -c3 -i0.2 -W1 -M do -s 1400 $to || true; ping -n -c1 -W1 -t 2 $to || true; done", outsideAddrs[0], outsideAddrs[1])
		if strings.Count(said, "1300") < 2 || !strings.Contains(said, "Time to live exceeded") || !strings.Contains(said, "Time exceeded: Hop limit") {
			t.Errorf("of errors on the way r1 learns\n%s", said)
		}
		cell.Sh(t, "ip link set up0 mtu 1500")
	})
	t.Run("overlap", func(t *testing.T) { // the host has a network of the same addresses
		c.network("", "twin", "10.1.0.0/24", "fd01::/64")
		both("beside a network of the host's with the same addresses")
		cell.Must(t, c.agents[""].DeleteNetwork(context.Background(), "twin"))
	})
	t.Run("longest", func(t *testing.T) {
		for _, a := range outsideAddrs {
			c.routed(heddle.Single(a).String(), "")
		}
		r1.Silent(t, outsideAddrs...)
		for _, a := range outsideAddrs {
			c.unrouted(heddle.Single(a).String())
		}
		if _, err := c.routeTo("red", "0.0.0.0/0", same[0].String()); !errors.Is(err, heddle.RouteExists.Sentinel()) {
			t.Errorf("a second next hop: %v", err)
		}
		if _, err := vpc.AddRoute(context.Background(), c.of(), "red", vpcroute.Route{Destination: netip.MustParsePrefix("10.1.0.128/25"), Host: true}); !errors.Is(err, heddle.SubnetOverlap.Sentinel()) {
			t.Errorf("a route that overrules a subnet: %v", err)
		}
		r1.Reaches(t, netip.MustParseAddr("10.1.0.1"))
		both("after longer prefixes")
	})
	t.Run("flows", func(t *testing.T) {
		for i, to := range outsideAddrs {
			ask := func() error {
				_, err := r1.AskFrom("udp", netip.AddrPortFrom(same[i], 40000), netip.AddrPortFrom(to, port), world.Refusal)
				return err
			}
			world.Soon(t, "the flow goes out", ask)
			c.notOut("red", everywhere[i])
			seen := net.Capture(t, "eth0")
			if ask() == nil {
				t.Errorf("a flow to %s goes on without a route", to)
			}
			if seen.Has(world.Contains("hello")) || len(c.netns("red").Tracked(t, same[i], to)) > 0 {
				t.Errorf("the flow to %s is not forgotten", to)
			}
			seen.Stop()
			c.out("red", everywhere[i])
			world.Soon(t, "the flow goes out again", ask)
		}
	})
	t.Run("killed", func(t *testing.T) {
		for _, name := range []string{"red", ""} {
			c.agents[name].Kill()
		}
		both("without agents")
		for _, name := range []string{"red", ""} {
			c.start(name)
		}
		audits()
		both("after a restart")
	})
	t.Run("mended", func(t *testing.T) {
		name, _, _ := heddle.GatewayLink("red")
		for _, one := range [][2]string{{"red", "ip link delete " + name}, {"", "ip link delete " + name}, {"red", "nft flush ruleset"}, {"", "nft flush ruleset"}, {"red", "ip route flush proto 104; ip -6 route flush proto 104"},
			{"", "sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0"}, {"", "nft 'add table ip filter; add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }'"}} {
			c.netns(one[0]).Sh(t, "%s", one[1])
			world.Soon(t, fmt.Sprintf("r1 is out again after %q in %q", one[1], one[0]), func() error { return c.sees("r1") })
		}
		cell.Sh(t, "nft delete table ip filter")
		audits()
		both("after repair")
	})
	t.Run("told", func(t *testing.T) {
		shell := "export HEDDLE_SOCKET=" + c.agents[""].Socket + "\n"
		c.agents[""].Kill()
		cell.Sh(t, "sysctl -qw net.ipv4.ip_forward=0")
		if said := c.heddle(t, shell+"heddle vpc show red"); !strings.Contains(said, "the host's agent repairs nothing") || !strings.Contains(said, "The host does not forward IPv4") {
			t.Errorf("that the host's agent is away, and the host does not forward, is not said:\n%s", said)
		}
		c.start("")
		world.Soon(t, "the host forwards again", func() error { return c.sees("r1") })
		found := c.heddle(t, shell+"sysctl -qw net.ipv4.ip_forward=0; heddle doctor --only ip-forward || true; heddle doctor --only agent-modes")
		if !strings.Contains(found, "1 checks") || strings.Contains(found, "other modes") {
			t.Errorf("the doctor says\n%s", found)
		}
	})
	c.notOut("red", everywhere...)
	c.notOut("blue", everywhere...)
	r1.Silent(t, outsideAddrs...)
	if after := hostTraces(t); after != before {
		t.Errorf("of the ways out is left\n%s\nbefore it was\n%s", after, before)
	}
}

// nine9 are the addresses of a machine of the host's own.
var nine9 = []netip.Addr{netip.MustParseAddr("10.9.0.9"), netip.MustParseAddr("fd09::9")}

// hostTraces is what ways out could leave on the host.
func hostTraces(t *testing.T) string {
	t.Helper()
	return cell.Sh(t, "ip -o link | grep -o ': %s[^@]*' || true; ip route; ip -6 route; ip neigh show nud permanent; nft list ruleset | grep -v 'counter packets\\|packets .* bytes' | sort", heddle.PrefixGateway)
}
