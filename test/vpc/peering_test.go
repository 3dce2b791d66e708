package vpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
	"github.com/heddle-network/heddle/vpc"
)

// TestPeering: within a VPC, networks reach each other when they are allowed to. VPCs that are peered reach each other, by routes for
// exactly their subnets and with their own addresses, and nobody else does.
func TestPeering(t *testing.T) {
	c := newCloud(t, []string{"red", "blue", "green", "grey"}, map[string][]string{"r1": {"red/lan"}, "r2": {"red/db"}, "b1": {"blue/lan"}, "b2": {"blue/web"}, "g1": {"green/lan"}})
	defer c.end()
	c.network("red", "lan", "10.1.0.0/24", "fd01::/64")
	c.network("red", "db", "10.1.1.0/24")
	c.network("blue", "lan", "10.2.0.0/24", "fd02::/64")
	c.network("green", "lan", "10.3.0.0/24", "fd03::/64")
	c.network("grey", "lan", "10.2.0.0/23")
	addrs := map[string][]netip.Addr{}
	start := func(name, network string) {
		for _, p := range c.plug(name, network, nil, "0.0.0.0/0", "::/0").Addrs {
			addrs[name] = append(addrs[name], p.Addr())
		}
		c.machines[name].Serve(t, port, addrs[name]...)
	}
	for name, network := range map[string]string{"r1": "red/lan", "r2": "red/db", "b1": "blue/lan", "g1": "green/lan"} {
		start(name, network)
	}
	reach := func(a, b string) error {
		for _, to := range addrs[b] {
			if to.Is6() && len(addrs[a]) < 2 {
				continue
			}
			got, err := c.machines[a].Ask("tcp", netip.AddrPortFrom(to, port))
			if err == nil && (got.Server != b || got.Seen != own(addrs[a], to)) {
				err = fmt.Errorf("%s at %s answers as %s, and sees %s", b, to, got.Server, got.Seen)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	together := func(a, b string) {
		t.Helper()
		world.Soon(t, a+" and "+b+" reach each other", func() error { return errors.Join(reach(a, b), reach(b, a)) })
	}
	apart := func(a, b string) {
		t.Helper()
		c.machines[a].Silent(t, addrs[b]...)
	}
	ctx := context.Background()
	of := func(name string) *client.Client { return c.agents[name].Client }

	apart("r1", "r2")
	apart("r1", "b1")
	cell.Must(t, of("red").Allow(ctx, "lan", "db"))
	together("r2", "r1")
	cell.Must(t, of("red").Disallow(ctx, "lan", "db"))

	// what a person could type, and then the command, which finds it done
	c.heddle(t, "%s", c.heddle(t, "heddle vpc peer red blue --dry-run"))
	if said := c.heddle(t, "heddle vpc list; heddle vpc list -q"); !strings.Contains(said, "lan 10.2.0.0/24,fd02::/64") || !strings.Contains(said, "grey\nred") || strings.Contains(said, "down") {
		t.Errorf("the VPCs are\n%s", said)
	}
	networks, err := of("red").Networks(ctx)
	cell.Must(t, err)
	c.heddle(t, "heddle vpc peer red blue")
	if again, err := of("red").Networks(ctx); err != nil || len(again) != 3 || !slices.EqualFunc(again, networks, func(a, b heddle.Network) bool { return a.ID == b.ID }) {
		t.Errorf("peered again, red has %+v, %v; before %+v", again, err, networks)
	}
	cell.Must(t, vpc.Peer(ctx, of, "green", "blue"))
	together("r1", "b1")
	together("r2", "b1")
	together("g1", "b1")
	t.Run("routes", func(t *testing.T) {
		for in, want := range map[string]string{"red": "10.2.0.0/24 fd02::/64", "blue": "10.1.0.0/24 10.1.1.0/24 10.3.0.0/24 fd01::/64 fd03::/64", "green": "10.2.0.0/24 fd02::/64"} {
			got := c.netns(in).Sh(t, "{ ip -4 route; ip -6 route; } | grep ' dev %s' | grep -v fe80::/ | cut -d' ' -f1 | sort", heddle.PrefixPeering)
			if got = strings.Join(strings.Fields(got), " "); got != want {
				t.Errorf("%s has routes for %s, want %s", in, got, want)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		for pair, code := range map[[2]string]heddle.Code{{"blue", "grey"}: heddle.SubnetOverlap, {"red", "grey"}: heddle.SubnetOverlap, {"red", "red"}: heddle.BadArgument, {"red", "no/name"}: heddle.BadName} {
			if err := vpc.Peer(ctx, of, pair[0], pair[1]); !errors.Is(err, code.Sentinel()) {
				t.Errorf("%v: %v", pair, err)
			}
		}
		if _, err := of("red").Attach(ctx, heddle.AttachRequest{Network: vpc.PeeringName("blue"), ID: heddle.EndpointID{Container: "c", IfName: "eth9"}, Netns: c.machines["r2"].Path}); !errors.Is(err, heddle.BadArgument.Sentinel()) {
			t.Errorf("a container of red on blue's networks: %v", err)
		}
		if all, err := of("grey").Networks(ctx); err != nil || len(all) != 1 {
			t.Errorf("grey has %v, %v", all, err)
		}
		if _, _, err := of("red").CreateNetwork(ctx, heddle.Network{Name: "late", Mode: "bridge", Subnets: []netip.Prefix{netip.MustParsePrefix("10.2.0.128/25")}}, false); !errors.Is(err, heddle.SubnetOverlap.Sentinel()) {
			t.Errorf("a network with a peer's addresses: %v", err)
		}
		if _, _, err := of("").CreateNetwork(ctx, heddle.Network{Name: "p", Mode: heddle.ModePeering, Subnets: []netip.Prefix{netip.MustParsePrefix("10.2.0.0/24")}}, false); !errors.Is(err, heddle.UnknownMode.Sentinel()) {
			t.Errorf("a peering of the host: %v", err)
		}
	})
	t.Run("attacks", func(t *testing.T) { peeringAttacks(t, c, addrs) })
	t.Run("mended", func(t *testing.T) {
		link, _ := heddle.PeeringLink("red", "blue")
		c.netns("red").Sh(t, "ip link delete %s", link)
		together("r1", "b1")
		for _, name := range []string{"red", "blue"} {
			c.agents[name].Kill()
		}
		together("r1", "b1")
		c.netns("blue").Sh(t, "ip link delete $(basename /proc/sys/net/ipv4/conf/%s)", second(heddle.PeeringLink("blue", "red")))
		for _, name := range []string{"red", "blue"} {
			c.start(name)
		}
		together("r1", "b1")
		for _, name := range []string{"red", "blue"} {
			c.agents[name].AuditEmpty(t)
		}
	})
	t.Run("more", func(t *testing.T) {
		c.network("blue", "web", "10.2.1.0/24")
		start("b2", "blue/web")
		apart("r1", "b2")
		cell.Must(t, vpc.Peer(ctx, of, "red", "blue"))
		together("b2", "r2")
		together("r1", "b1")
		cell.Must(t, of("red").Disallow(ctx, "lan", vpc.PeeringName("blue")))
		apart("r1", "b2")
		together("b2", "r2")
	})
	t.Run("half", func(t *testing.T) {
		cell.Must(t, of("blue").DeleteNetwork(ctx, vpc.PeeringName("red")))
		apart("r2", "b2")
		apart("b2", "r2")
		cell.Must(t, vpc.Peer(ctx, of, "blue", "red"))
		together("r1", "b1")
		together("r2", "b2")
	})
	if said := c.heddle(t, "heddle vpc unpeer red blue --dry-run"); said != "heddle --vpc blue network delete vpc-red\nheddle --vpc red network delete vpc-blue" {
		t.Errorf("unpeer would type\n%s", said)
	}
	for pair, existed := range map[[2]string]bool{{"red", "blue"}: true, {"blue", "green"}: true, {"red", "green"}: false} {
		if got, err := vpc.Unpeer(ctx, of, pair[0], pair[1]); got != existed || err != nil {
			t.Errorf("%v end: %v, %v", pair, got, err)
		}
	}
	apart("r1", "b1")
	apart("b1", "r1")
	if left := c.netns("red").Sh(t, "ip -o link | grep -c ': %s' || true", heddle.PrefixPeering); left != "0" {
		t.Errorf("%s links are left", left)
	}
}

// own is the address of the family of to.
func own(all []netip.Addr, to netip.Addr) netip.Addr {
	return heddle.OfFamily(all, heddle.FamilyOf(to))
}

func second(name string, _ heddle.MAC) string { return name }

// peeringAttacks: root in a machine of red sends what would reach VPC green by blue, blue's own addresses, and blue as somebody else.
func peeringAttacks(t *testing.T, c *cloud, addrs map[string][]netip.Addr) {
	r1 := c.machines["r1"]
	seen := c.machines["b1"].Capture(t, "eth0")
	for _, in := range []string{"10.3.0.0/24 via 10.1.0.1", "10.3.0.0/24 via 10.1.0.1 src 10.1.0.77"} {
		r1.Sh(t, "ip address replace 10.1.0.77/32 dev lo; ip route replace %s", in)
		r1.Silent(t, addrs["g1"]...)
	}
	for _, forged := range []string{"10.2.0.200", "10.3.0.5", "fd02::200", "fd03::5"} {
		a := netip.MustParseAddr(forged)
		r1.Bear(t, a)
		if r1.Ping(own(addrs["b1"], a), "-W0.3", "-I"+forged) == nil {
			t.Errorf("r1 is answered as %s", forged)
		}
		r1.Sh(t, "ip address del %s dev lo", heddle.Single(a))
	}
	r1.Silent(t, netip.MustParseAddr("10.2.0.1"), netip.MustParseAddr("fd02::1"))
	if n := world.Count(seen.Stop(), func(f world.Frame) bool {
		return !f.Out && (world.Contains(string([]byte{10, 2, 0, 200}))(f) || world.Contains(string([]byte{10, 3, 0, 5}))(f) || world.Contains(string([]byte{10, 1, 0, 77}))(f))
	}); n > 0 {
		t.Errorf("b1 has seen %d forged packets", n)
	}
	// what root of VPC red's namespace sends by the link: blue takes red's addresses alone, wherever they are for
	link, mac := heddle.PeeringLink("red", "blue")
	_, far := heddle.PeeringLink("blue", "red")
	for from, passes := range map[string]bool{"10.1.0.44": true, "10.1.2.1": false, "10.2.0.44": false, "10.3.0.44": false, "169.254.104.1": false, "127.0.0.1": false,
		"fd01::44": true, "fd01:1::44": false, "fd02::44": false, "fd03::44": false, "fe80::1": false} {
		arrive := c.machines["b1"].Capture(t, "eth0")
		mark := "mark of " + from + " "
		source := netip.MustParseAddr(from)
		c.netns("red").Send(t, link, datagram(t, mac, far, source, own(addrs["b1"], source), mark), datagram(t, mac, far, netip.MustParseAddr("10.1.0.45"), addrs["b1"][0], "last"))
		arrive.Await(1, world.Contains("last"))
		if got := arrive.Has(world.Contains(mark)); got != passes {
			t.Errorf("a packet from %s has passed: %v", from, got)
		}
		arrive.Stop()
	}
	green := c.machines["g1"].Capture(t, "eth0")
	c.netns("red").Send(t, link, datagram(t, mac, far, netip.MustParseAddr("10.1.0.44"), addrs["g1"][0], "by blue"))
	if world.Count(green.Stop(), world.Contains("by blue")) > 0 {
		t.Error("a packet of red has come to green by blue")
	}
	status, err := c.agents["blue"].Status(context.Background())
	cell.Must(t, err)
	if status.Drops["spoofed-ip"] < 4 || status.Drops["isolated"] < 2 {
		t.Errorf("blue counts %v", status.Drops)
	}
}

// datagram is a UDP packet to port 9.
func datagram(t *testing.T, mac, to heddle.MAC, from, at netip.Addr, text string) []byte {
	hw := func(m heddle.MAC) net.HardwareAddr { return net.HardwareAddr(m.Bytes()) }
	udp := &layers.UDP{SrcPort: 9, DstPort: 9}
	ether := &layers.Ethernet{SrcMAC: hw(mac), DstMAC: hw(to), EthernetType: layers.EthernetTypeIPv4}
	if from.Is6() {
		ether.EthernetType = layers.EthernetTypeIPv6
		ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolUDP, SrcIP: from.AsSlice(), DstIP: at.AsSlice()}
		cell.Must(t, udp.SetNetworkLayerForChecksum(ip))
		return world.Build(t, []gopacket.SerializableLayer{ether, ip, udp, gopacket.Payload(text)}...)
	}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: from.AsSlice(), DstIP: at.AsSlice()}
	cell.Must(t, udp.SetNetworkLayerForChecksum(ip))
	return world.Build(t, []gopacket.SerializableLayer{ether, ip, udp, gopacket.Payload(text)}...)
}
