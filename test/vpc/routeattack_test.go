package vpc_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
	"github.com/heddle-network/heddle/vpc"
)

// attackers are the machines of an attack, with their NICs.
type attackers struct {
	*cloud
	t     *testing.T
	cards map[string]nic.Card
}

// at is a machine's address of a family.
func (a attackers) at(name string, like netip.Addr) netip.Addr {
	for _, p := range a.cards[name].Addrs {
		if heddle.FamilyOf(p.Addr()) == heddle.FamilyOf(like) {
			return p.Addr()
		}
	}
	return netip.Addr{}
}

// comes sends a frame from a machine to r1's MAC address, and reports whether r1 gets it. A frame that passes follows it.
func (a attackers) comes(from, mark string, frame []byte) bool {
	a.t.Helper()
	seen := a.machines["r1"].Capture(a.t, "eth0")
	defer seen.Stop()
	last := datagram(a.t, a.cards[from].MAC, a.cards["r1"].MAC, a.cards[from].Addrs[0].Addr(), a.cards["r1"].Addrs[0].Addr(), "the last one")
	a.machines[from].Send(a.t, "eth0", frame, last)
	seen.Await(1, world.Contains("the last one"))
	return seen.Has(func(f world.Frame) bool { return !f.Out && world.Contains(mark)(f) })
}

// sends has a machine send a datagram to r1 from an address, and expects whether it comes.
func (a attackers) sends(name, source string, comes bool) {
	a.t.Helper()
	from, mark := netip.MustParseAddr(source), "mark of "+source+"."
	if got := a.comes(name, mark, datagram(a.t, a.cards[name].MAC, a.cards["r1"].MAC, from, a.at("r1", from), mark)); got != comes {
		a.t.Errorf("a datagram of %s from %s has come: %v", name, source, got)
	}
}

// TestRouteAttacks: a next hop sends from beyond it and from nowhere else, whatever it is asked or told; who is none sends from its own addresses
// alone. Nothing goes round, nor by a VPC to what is beyond it.
func TestRouteAttacks(t *testing.T) {
	c := newCloud(t, []string{"red", "blue"}, map[string][]string{"r1": {"red/lan"}, "hop": {"red/lan"}, "other": {"red/lan"}, "b1": {"blue/lan"}})
	defer c.end()
	c.network("red", "lan", "10.1.0.0/24", "fd01::/64")
	c.network("red", "db", "10.1.1.0/24", "fd01:0:0:1::/64")
	c.network("blue", "lan", "10.2.0.0/24", "fd02::/64")
	cell.Must(t, vpc.Peer(context.Background(), func(name string) *client.Client { return c.agents[name].Client }, "red", "blue"))
	a := attackers{c, t, map[string]nic.Card{}}
	for name, network := range map[string]string{"r1": "red/lan", "hop": "red/lan", "other": "red/lan", "b1": "blue/lan"} {
		a.cards[name] = c.plug(name, network, nil, "0.0.0.0/0", "::/0")
	}
	four, six := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")
	for _, to := range []string{"203.0.113.7", "2001:db8::7", "192.168.50.7", "fd50::7"} {
		a.sends("hop", to, false) // it is no next hop yet
	}
	c.routed("0.0.0.0/0", a.at("hop", four).String())
	c.routed("::/0", a.at("hop", six).String())
	c.routed("192.168.50.128/25", a.at("other", four).String())
	c.routed("fd50::/65", a.at("other", six).String())
	c.routed("192.168.60.0/24", "")
	c.routed("fd60::/64", "")
	t.Run("sources", func(t *testing.T) {
		a.t = t
		for source, comes := range map[string]bool{
			"203.0.113.7": true, "192.168.50.7": true, "10.9.9.9": true, "2001:db8::7": true, "fd50::8000:0:0:7": true,
			a.at("hop", four).String(): true, a.at("hop", six).String(): true,
			a.at("other", four).String(): false, a.at("other", six).String(): false, "10.1.0.1": false, "fd01::1": false, "10.1.0.99": false,
			"10.1.1.9": false, "fd01:0:0:1::9": false, "10.2.0.9": false, "fd02::9": false, // another network's, a peer's
			"192.168.50.200": false, "fd50::7": false, "192.168.60.7": false, "fd60::7": false, // another route's
			"127.0.0.1": false, "169.254.169.254": false, "224.0.0.5": false, "255.255.255.255": false, "0.0.0.0": false,
			"::1": false, "fe80::1": false, "ff02::5": false, "::7": false,
		} {
			a.sends("hop", source, comes)
		}
		for source, comes := range map[string]bool{"192.168.50.200": true, "fd50::7": true, "192.168.50.7": false, "203.0.113.7": false, "fd50::8000:0:0:7": false, "2001:db8::7": false} {
			a.sends("other", source, comes)
		}
	})
	t.Run("neighbours", func(t *testing.T) {
		a.t = t
		for sender, comes := range map[string]bool{"203.0.113.7": true, "10.1.0.1": false, a.at("other", four).String(): false, "192.168.50.200": false} {
			from := netip.MustParseAddr(sender)
			for op, comes := range map[uint16]bool{1: comes, 2: false} {
				if got := a.comes("hop", string(append(a.cards["hop"].MAC.Bytes(), from.AsSlice()...)), arpFrame(t, op, a.cards["hop"].MAC, a.cards["r1"].MAC, from, a.at("r1", four))); got != comes {
					t.Errorf("ARP %d of %s has come: %v", op, sender, got)
				}
			}
		}
		neighboursNoted(t, a)
		for _, target := range []netip.Addr{six, a.at("other", six)} {
			for _, source := range []netip.Addr{six, a.at("hop", six)} {
				if a.comes("hop", string(target.AsSlice())+"\x02\x01", advertisementFrame(t, a.cards["hop"].MAC, a.cards["r1"].MAC, source, a.at("r1", six), target)) {
					t.Errorf("%s advertises %s", source, target)
				}
			}
		}
	})
	t.Run("errors", func(t *testing.T) { routeErrors(t, a, four) })
	t.Run("loop", func(t *testing.T) {
		r1, hop := c.machines["r1"], c.machines["hop"]
		hop.Sh(t, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.eth0.send_redirects=0")
		seen := hop.Capture(t, "eth0")
		r1.Silent(t, four, six)
		hop.Silent(t, four, six) // its own go by itself
		for _, to := range []netip.Addr{four, six} {
			echo := func(f world.Frame) bool {
				return !f.Out && world.Contains(string(append(a.at("r1", to).AsSlice(), to.AsSlice()...)))(f)
			}
			if n := world.Count(seen.Stop(), echo); n != 1 {
				t.Errorf("the next hop has seen %d packets to %s, want 1", n, to)
			}
		}
		// the kernel itself drops the redirect about a connection's first packet, since its address may be translated
		told := r1.Capture(t, "eth0")
		r1.TrySh("ping -c5 -i0.2 -W0.2 203.0.113.99")
		redirect := func(f world.Frame) bool {
			icmp, is := f.Packet().Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
			return is && icmp.TypeCode.Type() == layers.ICMPv4TypeRedirect || f.Packet().Layer(layers.LayerTypeICMPv6Redirect) != nil
		}
		if world.Count(told.Stop(), redirect) > 0 {
			t.Error("the sender is redirected to the next hop, where it would go on to send when the route is gone")
		}
		status, err := c.agents["red"].Status(context.Background())
		cell.Must(t, err)
		if status.Drops["route-loop"] < 2 || status.Drops["spoofed-ip"] < 2 {
			t.Errorf("red counts %v", status.Drops)
		}
	})
	t.Run("peer", func(t *testing.T) {
		link, mac := heddle.PeeringLink("blue", "red")
		_, far := heddle.PeeringLink("red", "blue")
		for _, to := range []netip.Addr{four, six, netip.MustParseAddr("192.168.50.200"), netip.MustParseAddr("fd50::7")} {
			seen := []*world.Capture{c.machines["hop"].Capture(t, "eth0"), c.machines["other"].Capture(t, "eth0")}
			from := a.at("b1", to)
			last := datagram(t, mac, far, a.cards["b1"].Addrs[0].Addr(), a.at("hop", a.cards["b1"].Addrs[0].Addr()), "to the hop")
			c.netns("blue").Send(t, link, datagram(t, mac, far, from, to, "by red"), last)
			seen[0].Await(1, world.Contains("to the hop"))
			if !seen[0].Has(world.Contains("to the hop")) {
				t.Error("the peer reaches nothing: this proves nothing")
			}
			for _, s := range seen {
				if world.Count(s.Stop(), world.Contains("by red")) > 0 {
					t.Errorf("a packet of blue to %s has passed red", to)
				}
			}
		}
	})
	t.Run("network", func(t *testing.T) {
		a.t = t
		a.sends("hop", "192.168.70.9", true)
		c.network("red", "late", "192.168.70.0/24", "fd70::/64")
		a.sends("hop", "192.168.70.9", false)
		a.sends("hop", "fd70::9", false)
		cell.Must(t, c.agents["red"].DeleteNetwork(context.Background(), "late"))
		a.sends("hop", "192.168.70.9", true)
	})
	c.unrouted("0.0.0.0/0", "::/0", "192.168.50.128/25", "fd50::/65", "192.168.60.0/24", "fd60::/64")
	a.sends("hop", "203.0.113.7", false)
	a.sends("other", "fd50::7", false)
	if _, err := vpc.Unpeer(context.Background(), func(name string) *client.Client { return c.agents[name].Client }, "red", "blue"); err != nil {
		t.Error(err)
	}
}

// neighboursNoted: a next hop that asks by ARP as everybody who is beyond it does not fill the table of neighbours, which is the whole machine's.
// What it asks by neighbour discovery as one of them does not come at all.
func neighboursNoted(t *testing.T, a attackers) {
	t.Helper()
	hop, gateway := a.cards["hop"], netip.MustParseAddr("10.1.0.1")
	const all, most = 500, 250
	var frames [][]byte
	for i := range all {
		sender := netip.AddrFrom4([4]byte{203, 0, byte(112 + i/250), byte(1 + i%250)})
		frames = append(frames, arpFrame(t, 1, hop.MAC, heddle.MAC("ff:ff:ff:ff:ff:ff"), sender, gateway))
	}
	a.machines["hop"].Send(t, "eth0", frames...)
	a.sends("hop", a.at("hop", gateway).String(), true) // all have come
	noted := strings.Count(a.netns("red").Sh(t, "ip -4 neigh show"), "203.0.11")
	if noted == 0 || noted > most {
		t.Errorf("of %d senders from beyond a next hop, %d are noted as neighbours", all, noted)
	}
	from, to := netip.MustParseAddr("2001:db8::9"), a.at("r1", netip.IPv6Unspecified())
	ip := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborSolicitation, 0)}
	cell.Must(t, icmp.SetNetworkLayerForChecksum(ip))
	frame := world.Build(t, ethernet(hop.MAC, a.cards["r1"].MAC, layers.EthernetTypeIPv6), ip, icmp, &layers.ICMPv6NeighborSolicitation{TargetAddress: to.AsSlice(),
		Options: layers.ICMPv6Options{{Type: layers.ICMPv6OptSourceAddress, Data: hop.MAC.Bytes()}}})
	if a.comes("hop", string(from.AsSlice()), frame) {
		t.Errorf("a neighbour solicitation from %s has come", from)
	}
}

// routeErrors: a next hop tells r1 what is about a packet of r1's that went to it or beyond it, as itself, and nothing about others' packets.
func routeErrors(t *testing.T, a attackers, four netip.Addr) {
	a.t = t
	hop, other, r1 := a.at("hop", four), a.at("other", four), a.at("r1", four)
	for i, one := range []struct {
		source, about netip.Addr
		comes         bool
	}{{hop, four, true}, {hop, hop, true}, {hop, other, false}, {hop, netip.MustParseAddr("10.1.1.9"), false}, {hop, netip.MustParseAddr("192.168.50.200"), false},
		{four, four, false}, {netip.MustParseAddr("203.0.113.1"), four, false}} {
		mark := fmt.Sprintf("quoted %d.", i)
		quoted := datagram(t, a.cards["r1"].MAC, a.cards["hop"].MAC, r1, one.about, mark)[14:]
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: one.source.AsSlice(), DstIP: r1.AsSlice()}
		icmp := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodeFragmentationNeeded), Seq: 1200}
		frame := world.Build(t, ethernet(a.cards["hop"].MAC, a.cards["r1"].MAC, layers.EthernetTypeIPv4), ip, icmp, gopacket.Payload(quoted))
		if got := a.comes("hop", mark, frame); got != one.comes {
			t.Errorf("an error from %s about a packet to %s has come: %v", one.source, one.about, got)
		}
	}
	six := netip.MustParseAddr("2001:db8::7")
	for i, one := range []struct {
		source, about netip.Addr
		comes         bool
	}{{a.at("hop", six), six, true}, {a.at("hop", six), a.at("other", six), false}, {a.at("hop", six), netip.MustParseAddr("fd50::7"), false}, {six, six, false}} {
		mark := fmt.Sprintf("quoted6 %d.", i)
		quoted := datagram(t, a.cards["r1"].MAC, a.cards["hop"].MAC, a.at("r1", six), one.about, mark)[14:]
		ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolICMPv6, SrcIP: one.source.AsSlice(), DstIP: a.at("r1", six).AsSlice()}
		icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypePacketTooBig, 0)}
		cell.Must(t, icmp.SetNetworkLayerForChecksum(ip))
		frame := world.Build(t, ethernet(a.cards["hop"].MAC, a.cards["r1"].MAC, layers.EthernetTypeIPv6), ip, icmp, gopacket.Payload(append([]byte{0, 0, 5, 0}, quoted...)))
		if got := a.comes("hop", mark, frame); got != one.comes {
			t.Errorf("an error from %s about a packet to %s has come: %v", one.source, one.about, got)
		}
	}
}

func ethernet(from, to heddle.MAC, kind layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: net.HardwareAddr(from.Bytes()), DstMAC: net.HardwareAddr(to.Bytes()), EthernetType: kind}
}

func arpFrame(t *testing.T, op uint16, from, to heddle.MAC, sender, target netip.Addr) []byte {
	return world.Build(t, ethernet(from, to, layers.EthernetTypeARP), &layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6,
		ProtAddressSize: 4, Operation: op, SourceHwAddress: from.Bytes(), SourceProtAddress: sender.AsSlice(), DstHwAddress: to.Bytes(), DstProtAddress: target.AsSlice()})
}

func advertisementFrame(t *testing.T, from, to heddle.MAC, source, at, target netip.Addr) []byte {
	ip := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: source.AsSlice(), DstIP: at.AsSlice()}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborAdvertisement, 0)}
	cell.Must(t, icmp.SetNetworkLayerForChecksum(ip))
	return world.Build(t, ethernet(from, to, layers.EthernetTypeIPv6), ip, icmp, &layers.ICMPv6NeighborAdvertisement{Flags: 0x60, TargetAddress: target.AsSlice(),
		Options: layers.ICMPv6Options{{Type: layers.ICMPv6OptTargetAddress, Data: from.Bytes()}}})
}
