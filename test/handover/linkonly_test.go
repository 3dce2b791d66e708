package handover_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// linkOnly asks for a link that a runtime moves, and nothing else.
func linkOnly(r *heddle.AttachRequest) { r.Handover, r.LinkOnly = true, true }

// carry moves a link as a runtime does that is told of it by linux.netDevices: moved, renamed, raised. It waits until the agent has seen that.
func carry(t *testing.T, w *world.World, ns world.Netns, network, name string) heddle.AttachReply {
	t.Helper()
	reply, err := w.Attach(ctx, w.Request(ns, network, linkOnly, func(r *heddle.AttachRequest) { r.ID.IfName = name }))
	cell.Must(t, err)
	cell.Sh(t, "ip link set %[1]s netns %[2]s name %[3]s; ip -n %[2]s link set %[3]s up", reply.Source, ns.Name, name)
	cell.Must(t, w.Noticed(reply.Endpoint.ID, name))
	return reply
}

// TestLinkOnly: a link that was moved alone gets addresses and routes. With two in a container, each keeps its default route, and the other
// one's is there when it goes.
func TestLinkOnly(t *testing.T) {
	each(t, func(t *testing.T, w *world.World, mode string) {
		w.Network(t, "second", "bridge")
		ns := world.NewNetns(t, "a")
		one := carry(t, w, ns, "net", "eth1")
		ns.Reaches(t, outside...)
		two := carry(t, w, ns, "second", "eth2")
		w.AuditEmpty(t)
		for _, family := range []string{"-4", "-6"} {
			if routes := cell.Sh(t, "ip -n a %s route show default", family); strings.Count(routes, "default via") != 2 {
				t.Errorf("the default routes are\n%s", routes)
			}
		}
		for _, reply := range []heddle.AttachReply{two, one} {
			ns.Reaches(t, outside...)
			_, err := w.Detach(ctx, reply.Endpoint.ID)
			cell.Must(t, err)
		}
		w.AuditEmpty(t)
	})
}

// TestLinkOnlyNoIPv6: a container in which IPv6 is switched off has IPv4, and that stays switched off.
func TestLinkOnlyNoIPv6(t *testing.T) {
	each(t, func(t *testing.T, w *world.World, mode string) {
		ns := world.NewNetns(t, "a")
		ns.Sh(t, "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")
		carry(t, w, ns, "net", "eth1")
		ns.Reaches(t, world.Outside4)
		if all := cell.Sh(t, "ip -n a -6 address show dev eth1"); strings.Contains(all, "inet6") {
			t.Errorf("it has addresses of IPv6:\n%s", all)
		}
		w.AuditEmpty(t)
	})
}

// TestLinkOnlyLeased: an address that an engine has leased for a container of its own is no other's.
func TestLinkOnlyLeased(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	n, err := w.Agent.Network("net")
	cell.Must(t, err)
	leased, err := w.Lease(ctx, n.Subnets[0].String(), netip.Addr{}, "")
	cell.Must(t, err)
	_, err = w.Attach(ctx, w.Request(world.NewNetns(t, "a"), "net", linkOnly, func(r *heddle.AttachRequest) { r.IPs = []netip.Addr{leased.Addr()} }))
	wantCode(t, err, heddle.AddressTaken)
}

// TestLinkOnlyAsks: a container on a LAN asks the host's resolver: no engine answers it.
func TestLinkOnlyAsks(t *testing.T) {
	var o agent.Options
	w := world.New(t, world.Answering(t, &o))
	w.Network(t, "net", "macvlan", onLAN)
	ns := world.NewNetns(t, "a")
	reply := carry(t, w, ns, "net", "eth1")
	if len(reply.Resolvers) != 2 {
		t.Fatalf("it is told to ask %v", reply.Resolvers)
	}
	cell.Must(t, w.SetNames(reply.Endpoint.ID, "web", nil))
	p := &world.Pod{Netns: ns, Endpoint: reply.Endpoint}
	for _, at := range reply.Resolvers {
		world.Soon(t, "names are answered", func() error { return found(p, p, at, "web") })
	}
	w.AuditEmpty(t)
	_, err := w.Detach(ctx, reply.Endpoint.ID)
	cell.Must(t, err)
	w.AuditEmpty(t)
}

// TestLinkOnlyDHCP: addresses of a LAN's DHCP server are had only where the container is attached itself, and the error says so.
func TestLinkOnlyDHCP(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "macvlan", onLAN, world.With(heddle.OptionAddresses+"="+heddle.AddressesDHCP), func(n *heddle.Network) { n.Ranges = nil })
	_, err := w.Attach(ctx, w.Request(world.NewNetns(t, "a"), "net", linkOnly))
	if wantCode(t, err, heddle.BadOption); !strings.Contains(heddle.RemedyOf(err), "heddle attach --pid") {
		t.Errorf("the error is %v", err)
	}
	w.AuditEmpty(t)
}
