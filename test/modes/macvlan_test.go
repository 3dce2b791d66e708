package modes_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// onLAN puts a network on the LAN of the uplink; addresses are given out from
// the upper half.
func onLAN(n *heddle.Network) {
	n.Subnets = nil
	n.Ranges = []netip.Prefix{netip.MustParsePrefix("192.0.2.128/25"), netip.MustParsePrefix("2001:db8::1:0/112")}
}

var lanAddrs = []netip.Addr{world.Host4, world.Host6}

// TestMacvlan: containers are hosts of the LAN. Each other, the LAN, what lies
// beyond its router, and (by the shim) their own host are reached both ways, and
// each is seen with its own address.
func TestMacvlan(t *testing.T) {
	w := world.New(t)
	n := w.Network(t, "lan", "macvlan", onLAN)
	if n.Parent != "up0" || fmt.Sprint(n.Subnets) != "[192.0.2.0/24 2001:db8::/64]" || fmt.Sprint(n.Gateways) != "[192.0.2.2 2001:db8::2]" {
		t.Errorf("taken from the LAN: parent %s, subnets %v, gateways %v", n.Parent, n.Subnets, n.Gateways)
	}
	if len(n.Limits) == 0 || !strings.Contains(strings.Join(n.Limits, " "), "no guard") {
		t.Errorf("limits told: %q", n.Limits)
	}
	a, b := w.Pod(t, "a", "lan"), w.Pod(t, "b", "lan")
	if a.Endpoint.MTU != world.UplinkMTU {
		t.Errorf("MTU %d", a.Endpoint.MTU)
	}
	a.Serve(t, 7000, a.Addrs()...)
	b.Serve(t, 7000, b.Addrs()...)
	w.Outside.Serve(t, 7000, all(beyondAddrs, []netip.Addr{world.Outside4, world.Outside6})...)
	w.Host.Serve(t, 7001, lanAddrs...)
	for _, p := range []*world.Pod{a, b} {
		w.Host.Gets(t, p.Name, 7000, p.Addrs()...)
		w.Outside.Gets(t, p.Name, 7000, p.Addrs()...)
		p.Gets(t, "host", 7001, lanAddrs...)
		p.Gets(t, "outside", 7000, append(beyondAddrs, world.Outside4, world.Outside6)...)
		for _, to := range beyondAddrs {
			seenAs(t, p.Netns, to, p.Addr(to))
		}
	}
	a.Gets(t, "b", 7000, b.Addrs()...)
	for i, to := range b.Addrs() {
		if got, err := w.Host.Ask("tcp", netip.AddrPortFrom(to, 7000)); err != nil || got.Seen != lanAddrs[i] {
			t.Errorf("the host is seen by a container as %v (%v), want %s", got.Seen, err, lanAddrs[i])
		}
	}
}

// TestMacvlanOneMAC: whoever asks on the LAN for the host's address, and whatever
// the host sends, there is one MAC address for it.
func TestMacvlanOneMAC(t *testing.T) {
	w := world.New(t)
	w.Network(t, "lan", "macvlan", onLAN)
	a := w.Pod(t, "a", "lan")
	a.Serve(t, 7000, a.Addrs()...)
	own := strings.Fields(cell.Sh(t, "ip -br link show up0"))[2]
	for range 3 {
		w.Outside.Sh(t, "ip neighbour flush dev eth0")
		w.Outside.Reaches(t, world.Host4, world.Host6)
		w.Host.Gets(t, "a", 7000, a.Addrs()...)
		a.Reaches(t, world.Host4, world.Host6)
		for _, addr := range lanAddrs {
			if seen := w.Outside.Sh(t, "ip neighbour show %s dev eth0", addr); !strings.Contains(seen, own) {
				t.Errorf("the LAN sees %s as %s, want %s", addr, seen, own)
			}
		}
	}
}

// TestMacvlanAnnounced: a neighbour that knew an earlier holder of the address
// sends to the new one at once.
func TestMacvlanAnnounced(t *testing.T) {
	w := world.New(t)
	w.Network(t, "lan", "macvlan", onLAN)
	const old = "02:00:00:00:00:77"
	w.Outside.Sh(t, `ip neighbour replace 192.0.2.200 lladdr %s dev eth0 nud reachable
		ip neighbour replace 2001:db8::1:c8 lladdr %[1]s dev eth0 nud reachable`, old)
	a := w.Pod(t, "a", "lan", world.IP("192.0.2.200"), world.IP("2001:db8::1:c8"))
	for _, addr := range a.Addrs() {
		world.Soon(t, "the LAN knows the new holder", func() error {
			if seen := w.Outside.Sh(t, "ip neighbour show %s dev eth0", addr); !strings.Contains(seen, string(a.Endpoint.MAC)) {
				return fmt.Errorf("%s", seen)
			}
			return nil
		})
	}
}

// TestMacvlanSubmodes: who reaches whom is what the sub-mode says.
func TestMacvlanSubmodes(t *testing.T) {
	for _, sub := range []string{"private", "vepa"} {
		t.Run(sub, func(t *testing.T) {
			w := world.New(t)
			w.Network(t, "lan", "macvlan", onLAN, world.With("macvlan_mode="+sub))
			a, b := w.Pod(t, "a", "lan"), w.Pod(t, "b", "lan")
			a.Reaches(t, world.Outside4, world.Outside6)
			b.Reaches(t, world.Outside4, world.Outside6)
			a.Silent(t, append(b.Addrs(), lanAddrs...)...)
			if out := cell.Sh(t, "ip -o link show type macvlan"); out != "" {
				t.Errorf("the host has a device of its own: %s", out)
			}
		})
	}
	t.Run("passthru", func(t *testing.T) {
		w := world.New(t)
		_, _, err := w.CreateNetwork(w.Plan("lan", "macvlan", onLAN, world.With("macvlan_mode=passthru")), false)
		wantCode(t, err, heddle.NoParent) // the host's own uplink
		second := secondUplink(t)
		onSecond := func(n *heddle.Network) { n.Parent, n.Subnets, n.Ranges = "up1", nil, nil }
		w.Network(t, "lan", "macvlan", onSecond, world.With("macvlan_mode=passthru"))
		_, _, err = w.CreateNetwork(w.Plan("more", "macvlan", func(n *heddle.Network) {
			n.Parent, n.Subnets = "up1", []netip.Prefix{netip.MustParsePrefix("192.0.3.0/24")}
		}), false)
		wantCode(t, err, heddle.PlanConflict)
		a := w.Pod(t, "a", "lan")
		a.Reaches(t, secondOutside...)
		second.Reaches(t, a.Addrs()...)
		if own := strings.Fields(cell.Sh(t, "ip -br link show up1"))[2]; string(a.Endpoint.MAC) != own {
			t.Errorf("MAC %s, want the parent's %s", a.Endpoint.MAC, own)
		}
		_, err = w.Attach(ctx, w.Request(world.NewNetns(t, "b"), "lan"))
		wantCode(t, err, heddle.PlanConflict)
	})
	t.Run("no host access", func(t *testing.T) {
		w := world.New(t)
		w.Network(t, "lan", "macvlan", onLAN, world.With("host-access=false"))
		a, b := w.Pod(t, "a", "lan"), w.Pod(t, "b", "lan")
		a.Reaches(t, b.Addrs()...)
		a.Silent(t, lanAddrs...)
	})
}

// TestMacvlanRefusals: what the LAN or the sub-mode cannot give is refused, and
// nothing is left.
func TestMacvlanRefusals(t *testing.T) {
	w := world.New(t)
	cell.Sh(t, "ip link add idle type veth peer name idle1")
	t.Cleanup(func() { cell.TrySh("ip link del idle") })
	for name, c := range map[string]struct {
		change world.NetworkOption
		code   heddle.Code
	}{
		"sub-mode":    {world.With("macvlan_mode=l2"), heddle.BadOption},
		"host access": {func(n *heddle.Network) { world.With("macvlan_mode=vepa")(n); world.With("host-access=true")(n) }, heddle.BadOption},
		"internal":    {world.Internal, heddle.BadOption},
		"no parent":   {func(n *heddle.Network) { n.Parent = "nosuch0" }, heddle.NoParent},
		"down": {func(n *heddle.Network) {
			n.Parent, n.Ranges, n.Subnets = "idle", nil, []netip.Prefix{netip.MustParsePrefix("10.9.0.0/24")}
		}, heddle.NoParent},
		"no address": {func(n *heddle.Network) { n.Parent, n.Ranges = "idle", nil }, heddle.BadSubnet},
		"option":     {world.With("colour=red"), heddle.BadOption},
		"router":     {func(n *heddle.Network) { n.Gateways = []netip.Addr{netip.MustParseAddr("10.0.0.1")} }, heddle.BadSubnet},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := w.CreateNetwork(w.Plan("lan", "macvlan", onLAN, c.change), false)
			wantCode(t, err, c.code)
		})
	}
	w.Network(t, "lan", "macvlan", onLAN)
	_, err := w.Attach(ctx, w.Request(world.NewNetns(t, "a"), "lan", world.Publish("8080:80/tcp")))
	wantCode(t, err, heddle.BadPort)
	_, err = w.Attach(ctx, w.Request(world.Netns{Name: "a", Path: "/run/netns/a"}, "lan", world.IP(world.Host4.String())))
	wantCode(t, err, heddle.AddressTaken)
	// The host's router is another one than the network's.
	cell.Must(t, w.DeleteNetwork("lan"))
	w.Network(t, "other", "macvlan", onLAN, func(n *heddle.Network) {
		n.Ranges, n.Gateways = nil, []netip.Addr{netip.MustParseAddr("192.0.2.3"), netip.MustParseAddr("2001:db8::3")}
	})
	_, err = w.Attach(ctx, w.Request(world.Netns{Name: "a", Path: "/run/netns/a"}, "other", world.IP(world.Outside4.String())))
	wantCode(t, err, heddle.AddressTaken)
}

// TestMacvlanPathGone: a container whose namespace has lost its name, but lives,
// loses its interface all the same: no end on the host would take it along.
func TestMacvlanPathGone(t *testing.T) {
	w := world.New(t)
	w.Network(t, "lan", "macvlan", onLAN)
	a := w.Pod(t, "a", "lan")
	cell.Sh(t, "mkdir -p /run/other && touch /run/other/a && mount --bind %s /run/other/a", a.Path)
	t.Cleanup(func() { cell.TrySh("umount /run/other/a") })
	a.Delete()
	a.Leave(t)
	if out := cell.Sh(t, "nsenter --net=/run/other/a ip -o link show type macvlan"); out != "" {
		t.Errorf("left behind: %s", out)
	}
}

// TestMacvlanLater: the host's addresses on the LAN change after the network was
// made. It is the same network all the same, and no container gets an address
// that the host has by now.
func TestMacvlanLater(t *testing.T) {
	w := world.New(t)
	plan := w.Plan("lan", "macvlan", onLAN)
	made, _, err := w.CreateNetwork(plan, false)
	cell.Must(t, err)
	cell.Sh(t, "ip address add 192.0.2.128/24 dev up0; ip address add 2001:db8::1:0/64 dev up0 nodad")
	t.Cleanup(func() { cell.TrySh("ip address del 192.0.2.128/24 dev up0; ip address del 2001:db8::1:0/64 dev up0") })
	again, _, err := w.CreateNetwork(plan, false)
	cell.Must(t, err)
	if again.ID != made.ID {
		t.Errorf("another network: %+v, had %+v", again, made)
	}
	a := w.Pod(t, "a", "lan")
	a.Serve(t, 7000, a.Addrs()...)
	w.Host.Gets(t, "a", 7000, a.Addrs()...)
	w.Host.Serve(t, 7002, netip.MustParseAddr("2001:db8::1:0"), world.Host6)
	a.Gets(t, "host", 7002, netip.MustParseAddr("2001:db8::1:0"), world.Host6)
}

// TestMacvlanNameOfHost: the host has an interface of the name that the container's
// gets. Kernels before 6.14 make the device beside its parent first.
func TestMacvlanNameOfHost(t *testing.T) {
	w := world.New(t)
	cell.Sh(t, "ip link add eth0 type veth peer name eth0far")
	t.Cleanup(func() { cell.TrySh("ip link del eth0") })
	w.Network(t, "lan", "macvlan", onLAN)
	a := w.Pod(t, "a", "lan")
	a.Reaches(t, world.Outside4, world.Outside6)
}
