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

// outsideSilent: nobody outside begins anything with what is in a VPC, whatever routes there are outside.
func outsideSilent(t *testing.T, c *cloud, net world.Netns) {
	insides, gates := c.insides("red")
	c.netns("red").Serve(t, port, insides...)
	net.Sh(t, "ip route add 10.1.0.0/24 via %[1]s; ip -6 route add fd01::/64 via %[2]s; ip route add 100.64.0.0/10 via %[1]s; ip -6 route add fd00::/8 via %[2]s", uplinkAddrs[0], uplinkAddrs[1])
	for _, who := range []world.Netns{net, c.netns(""), c.machines["h1"].Netns} {
		who.Silent(t, insides...)
		who.GetsNothing(t, port, insides...)
	}
	net.Silent(t, append(gates, same...)...)
	net.GetsNothing(t, port, same...)
	// also by the link, from where only the host's root sends: to machines, and to the VPC's gateways
	name, host, inside := heddle.GatewayLink("red")
	seen := c.machines["r1"].Capture(t, "eth0")
	for _, to := range same {
		c.netns("").Send(t, name, datagram(t, host, inside, own(outsideAddrs, to), to, "from outside"))
	}
	r1 := c.machines["r1"]
	r1.Reaches(t, outsideAddrs[0])
	if seen.Has(world.Contains("from outside")) {
		t.Error("a packet from the host has come to r1")
	}
	seen.Stop()
}

// outApart: by its way out a VPC reaches neither another VPC, nor containers of the host but at their published ports, nor more of the host than these do.
func outApart(t *testing.T, c *cloud) {
	r1, h1, host := c.machines["r1"], c.machines["h1"], c.netns("")
	insides, gates := c.insides("blue")
	c.netns("blue").Serve(t, port, insides...)
	for _, who := range []world.Netns{r1.Netns, c.netns("red")} {
		who.Silent(t, append(insides, gates...)...)
		who.GetsNothing(t, port, insides...)
		who.Silent(t, nine9...)
		who.GetsNothing(t, port, nine9...)
	}
	ctx := context.Background()
	pub := world.NewNetns(t, "pub")
	id := heddle.EndpointID{Container: "pub", IfName: "eth0"}
	r, err := c.agents[""].Attach(ctx, heddle.AttachRequest{Network: "web", ID: id, Netns: pub.Path, Ports: []heddle.PortMapping{{Protocol: "tcp", HostPort: 8080, ContainerPort: port}, {Protocol: "udp", HostPort: 8080, ContainerPort: port}}})
	cell.Must(t, err)
	for _, a := range r.Endpoint.Addrs {
		pub.Serve(t, port, a.Addr())
	}
	r1.Gets(t, "pub", 8080, uplinkAddrs...)
	_, err = c.agents[""].Detach(ctx, id)
	cell.Must(t, err)

	web := []netip.Addr{netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("fd09::1")}
	host.Serve(t, port, append(web, uplinkAddrs...)...)
	const tunnel = 4789 // VXLAN's
	host.Serve(t, tunnel, uplinkAddrs...)
	for _, who := range []world.Netns{h1.Netns, r1.Netns} {
		who.Gets(t, "host", port, uplinkAddrs...) // as every container on a bridge
		for _, a := range uplinkAddrs {
			if _, err := who.AskFrom("udp", netip.AddrPort{}, netip.AddrPortFrom(a, tunnel), world.Refusal); err == nil {
				t.Errorf("%s reaches the host's tunnels at %s", who.Name, a)
			}
		}
	}
	r1.Silent(t, web...)
	r1.GetsNothing(t, port, web...)
}

// outOfNetworks: a network that does without masquerading leaves as the others do, and an internal one only when it is allowed to.
func outOfNetworks(t *testing.T, c *cloud) {
	ctx, red := context.Background(), c.agents["red"]
	for _, n := range []heddle.Network{{Name: "plain", Options: map[string]string{"masquerade": "false"}}, {Name: "in", Internal: true}} {
		n.Mode, n.Subnets = "bridge", []netip.Prefix{netip.MustParsePrefix("10.3.0.0/24"), netip.MustParsePrefix("fd03::/64")}
		_, _, err := red.CreateNetwork(ctx, n, false)
		cell.Must(t, err)
		pod := world.NewNetns(t, n.Name)
		id := heddle.EndpointID{Container: n.Name, IfName: "eth0"}
		_, err = red.Attach(ctx, heddle.AttachRequest{Network: n.Name, ID: id, Netns: pod.Path})
		cell.Must(t, err)
		if n.Internal {
			pod.Sh(t, "ip route add default via 10.3.0.1; ip -6 route add default via fd03::1")
			pod.Silent(t, outsideAddrs...)
			cell.Must(t, red.Allow(ctx, n.Name, vpc.HostName))
		}
		pod.Gets(t, "internet", port, outsideAddrs...)
		red.AuditEmpty(t)
		_, err = red.Detach(ctx, id)
		cell.Must(t, err)
		cell.Must(t, red.DeleteNetwork(ctx, n.Name))
	}
}

// notByPeer: what comes from a peer does not go out, whatever root of the peer's namespace sends.
func notByPeer(t *testing.T, c *cloud, net world.Netns) {
	c.network("grey", "lan", "10.2.0.0/24", "fd02::/64")
	ctx := context.Background()
	cell.Must(t, vpc.Peer(ctx, c.of(), "red", "grey"))
	if all, err := c.agents["grey"].Networks(ctx); err != nil || len(all) != 2 || all[0].Subnets[0].Overlaps(netip.MustParsePrefix("100.64.0.0/10")) || all[1].Subnets[0].Overlaps(netip.MustParsePrefix("100.64.0.0/10")) {
		t.Errorf("with red's way out, grey has %+v, %v", all, err)
	}
	link, mac := heddle.PeeringLink("grey", "red")
	_, far := heddle.PeeringLink("red", "grey")
	seen := net.Capture(t, "eth0")
	insides, gates := c.insides("red")
	for i, from := range []netip.Addr{netip.MustParseAddr("10.2.0.9"), netip.MustParseAddr("fd02::9")} {
		for _, to := range []netip.Addr{outsideAddrs[i], gates[i], insides[i]} {
			c.netns("grey").Send(t, link, datagram(t, mac, far, from, to, "by a peer"))
		}
	}
	c.machines["r1"].Reaches(t, outsideAddrs...)
	if seen.Has(world.Contains("by a peer")) {
		t.Error("a packet of a peer has left by the way out")
	}
	seen.Stop()
	_, err := vpc.Unpeer(ctx, c.of(), "red", "grey")
	cell.Must(t, err)
}

// outMetadata: a VPC reaches no link-local addresses, and no service that gives out the host's credentials, although the host does.
func outMetadata(t *testing.T, c *cloud) {
	closed := []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:100::100:200"), netip.MustParseAddr("fd20:ce::254")}
	open := []netip.Addr{netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("fd00:ec2::253")}
	all := append(open, closed...)
	for _, a := range all {
		cell.Sh(t, "ip address add %s dev lo", heddle.Single(a))
		defer cell.Sh(t, "ip address del %s dev lo", heddle.Single(a))
	}
	c.netns("").Serve(t, port, all...)
	c.netns("").Gets(t, "host", port, closed...)
	c.machines["r1"].Gets(t, "host", port, open...)
	for _, who := range []world.Netns{c.machines["r1"].Netns, c.netns("red")} {
		who.Silent(t, closed...)
		who.GetsNothing(t, port, closed...)
	}
}

// outForged: what leaves has the host's address. Root in a machine, and even root in the VPC's namespace, sends as nobody else.
func outForged(t *testing.T, c *cloud, net world.Netns) {
	r1 := c.machines["r1"]
	seen := net.Capture(t, "eth0")
	for _, forged := range []string{"10.1.0.77", "203.0.113.9", "fd01::77", "2001:db8:9::9"} {
		a := netip.MustParseAddr(forged)
		r1.Sh(t, "ip address add %s dev lo", heddle.Single(a))
		if r1.Ping(own(outsideAddrs, a), "-W0.3", "-I"+forged) == nil {
			t.Errorf("r1 is answered as %s", forged)
		}
		r1.Sh(t, "ip address del %s dev lo", heddle.Single(a))
	}
	for _, f := range seen.Stop() {
		for _, source := range []string{string([]byte{10, 1, 0, 77}), string(netip.MustParseAddr("203.0.113.9").AsSlice()), string(netip.MustParseAddr("fd01::77").AsSlice()), string(netip.MustParseAddr("2001:db8:9::9").AsSlice())} {
			if world.Contains(source)(f) {
				t.Errorf("a packet from %x has left", source)
			}
		}
	}
	name, host, inside := heddle.GatewayLink("red")
	ours, _ := c.insides("red")
	blues, gates := c.insides("blue")
	for from, passes := range map[netip.Addr]bool{ours[0]: true, ours[1]: true, blues[0]: false, blues[1]: false, gates[0]: false, gates[1]: false, same[0]: false, same[1]: false, uplinkAddrs[0]: false, uplinkAddrs[1]: false,
		netip.MustParseAddr("127.0.0.1"): false, netip.MustParseAddr("fe80::1"): false} {
		arrive := net.Capture(t, "eth0")
		mark := "mark of " + from.String() + " "
		c.netns("red").Send(t, name, datagram(t, inside, host, from, own(outsideAddrs, from), mark), datagram(t, inside, host, ours[0], outsideAddrs[0], "last"))
		arrive.Await(1, world.Contains("last"))
		if got := arrive.Has(world.Contains(mark)); got != passes {
			t.Errorf("a packet from %s has passed: %v", from, got)
		}
		if n := world.Count(arrive.Stop(), func(f world.Frame) bool { return world.Contains(string(ours[0].AsSlice()))(f) }); n > 0 {
			t.Errorf("%d packets leave the host with the VPC's address", n)
		}
	}
	status, err := c.agents[""].Status(context.Background())
	cell.Must(t, err)
	if status.Drops["spoofed-ip"] < 8 {
		t.Errorf("the host counts %v", status.Drops)
	}
}

// hostTraces is what ways out could leave on the host.
func hostTraces(t *testing.T) string {
	t.Helper()
	return cell.Sh(t, "ip -o link | grep -o ': %s[^@]*' || true; ip route; ip -6 route; ip neigh show nud permanent; nft list ruleset | grep -v 'counter packets\\|packets .* bytes' | sort", heddle.PrefixGateway)
}
