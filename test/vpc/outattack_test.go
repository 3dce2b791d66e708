package vpc_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
	"github.com/heddle-network/heddle/vpc"
)

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
		c.netns("").Bear(t, a)
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
		r1.Bear(t, a)
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
