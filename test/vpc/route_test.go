package vpc_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
	"github.com/heddle-network/heddle/vpcroute"
)

// Addresses beyond next hops.
var beyond = []netip.Addr{netip.MustParseAddr("192.168.50.7"), netip.MustParseAddr("fd50::7")}

var beyondRoutes = []string{"192.168.50.0/24", "fd50::/64"}

// routeTo adds a route to a VPC; goal "" is a blackhole.
func (c *cloud) routeTo(in, destination, goal string) (vpcroute.Shown, error) {
	r := vpcroute.Route{Destination: netip.MustParsePrefix(destination)}
	if goal != "" {
		r.NextHop = netip.MustParseAddr(goal)
	}
	reply, err := c.agents[in].AddVPCRoute(context.Background(), r, false)
	return reply.Route, err
}

// routed adds a route, which is active; goal "" is a blackhole.
func (c *cloud) routed(destination, goal string) {
	c.t.Helper()
	want := vpcroute.Active
	if goal == "" {
		want = vpcroute.Blackhole
	}
	if s, err := c.routeTo("red", destination, goal); err != nil || s.State != want || s.Cause != "" {
		c.t.Fatalf("the route to %s is %+v, %v", destination, s, err)
	}
}

// unrouted deletes routes of VPC red, which are there.
func (c *cloud) unrouted(destinations ...string) {
	c.t.Helper()
	for _, d := range destinations {
		if r, err := c.agents["red"].DeleteVPCRoute(context.Background(), netip.MustParsePrefix(d), false); err != nil || !r.Existed {
			c.t.Fatalf("the route to %s is deleted: %+v, %v", d, r, err)
		}
	}
}

// state is what has become of a route of VPC red.
func (c *cloud) state(destination string) vpcroute.Shown {
	c.t.Helper()
	all, err := c.agents["red"].VPCRoutes(context.Background())
	cell.Must(c.t, err)
	i := slices.IndexFunc(all, func(s vpcroute.Shown) bool { return s.Destination.String() == destination })
	if i < 0 {
		c.t.Fatalf("there is no route to %s: %+v", destination, all)
	}
	return all[i]
}

// has gives a machine addresses from beyond it, where it answers with its name.
func (c *cloud) has(name string, all ...netip.Addr) {
	c.t.Helper()
	for _, a := range all {
		c.machines[name].Sh(c.t, "ip address replace %s dev lo nodad", heddle.Single(a))
	}
	c.machines[name].Serve(c.t, port, all...)
}

// ends are the addresses of a NIC, IPv4's first.
func (c *cloud) ends(name, network string) (four, six string) {
	c.t.Helper()
	for _, p := range c.plug(name, network, nil, "0.0.0.0/0", "::/0").Addrs {
		if p.Addr().Is4() {
			four = p.Addr().String()
		} else {
			six = p.Addr().String()
		}
	}
	return four, six
}

// newRed is a hypervisor with VPC red, with machines r1, hop and other on a network, and db on another one.
func newRed(t *testing.T) *cloud {
	c := newCloud(t, []string{"red"}, map[string][]string{"r1": {"red/lan"}, "hop": {"red/lan"}, "other": {"red/lan"}, "late": {"red/lan"}, "db": {"red/db"}})
	c.network("red", "lan", "10.1.0.0/24", "fd01::/64")
	c.network("red", "db", "10.1.1.0/24", "fd11::/64")
	return c
}

// TestRoutes: packets to the destination of a route come to its next hop, from the networks that may talk with it; the longest prefix wins.
// What is done twice is done once, and what cannot be is refused. An agent that is killed takes nothing along.
func TestRoutes(t *testing.T) {
	c := newRed(t)
	defer c.end()
	r1, db := c.machines["r1"], c.machines["db"]
	c.ends("r1", "red/lan")
	c.ends("db", "red/db")
	four, six := c.ends("hop", "red/lan")
	other4, other6 := c.ends("other", "red/lan")
	c.has("hop", beyond...)
	ctx, red := context.Background(), c.agents["red"]

	r1.Silent(t, beyond...)
	commands := c.heddle(t, "heddle vpc route add red 192.168.50.0/24 --next-hop %s --dry-run", four)
	if all, err := red.VPCRoutes(ctx); err != nil || len(all) > 0 {
		t.Errorf("after a dry run there is %+v, %v", all, err)
	}
	r1.Silent(t, beyond...)
	c.netns("red").Sh(t, "%s", commands) // what a person could type
	r1.Gets(t, "hop", port, beyond[0])
	for range 2 {
		c.routed(beyondRoutes[0], four)
		c.routed(beyondRoutes[1], six)
		red.AuditEmpty(t)
	}
	r1.Gets(t, "hop", port, beyond...)
	db.Silent(t, beyond...)
	cell.Must(t, red.Allow(ctx, "lan", "db"))
	db.Gets(t, "hop", port, beyond...)
	t.Run("shown", func(t *testing.T) {
		said := c.heddle(t, "heddle vpc route list red; heddle vpc route list red -q; heddle vpc show red; heddle vpc show red -o json; heddle vpc route list red -o json")
		for _, want := range []string{"192.168.50.0/24 ", "active", "\nfd50::/64\n", "lan 10.1.0.0/24,fd01::/64", `"kind": "VPCRouteList"`, `"nextHop": "` + six + `"`, "fd50::/64 " + six + " active"} {
			if !strings.Contains(said, want) {
				t.Errorf("%q is not said:\n%s", want, said)
			}
		}
		if said := c.heddle(t, "heddle __complete vpc route add red 10.0.0.0/8 --next-hop ''; heddle __complete vpc route delete red ''; heddle __complete vpc show ''"); !strings.Contains(said, four) || !strings.Contains(said, "blackhole") || !strings.Contains(said, "fd50::/64") || !strings.Contains(said, "\nred") {
			t.Errorf("completed is\n%s", said)
		}
	})
	t.Run("longest", func(t *testing.T) {
		c.has("other", beyond...)
		c.routed("192.168.50.0/25", other4)
		c.routed("fd50::/80", other6)
		c.routed("0.0.0.0/0", four)
		c.routed("192.168.50.7/32", "")
		c.routed("fd50::7/128", "")
		r1.Silent(t, beyond...)
		r1.Reaches(t, netip.MustParseAddr(four)) // no route overrules a subnet
		c.unrouted("192.168.50.7/32", "fd50::7/128")
		r1.Gets(t, "other", port, beyond...)
		c.unrouted("192.168.50.0/25", "fd50::/80", "0.0.0.0/0")
		r1.Gets(t, "hop", port, beyond...)
		red.AuditEmpty(t)
	})
	t.Run("chosen", func(t *testing.T) { // the agent chooses a network's subnets within a route's prefix
		c.routed("10.0.0.0/8", four)
		c.routed("fc00::/7", six)
		n, _, err := red.CreateNetwork(ctx, heddle.Network{Name: "chosen", Mode: "bridge"}, false)
		if err != nil || len(n.Subnets) == 0 || !netip.MustParsePrefix("10.0.0.0/8").Contains(n.Subnets[0].Addr()) {
			t.Fatalf("the network has %v, %v", n.Subnets, err)
		}
		cell.Must(t, red.DeleteNetwork(ctx, "chosen"))
		c.unrouted("10.0.0.0/8", "fc00::/7")
	})
	t.Run("refused", func(t *testing.T) { routesRefused(t, c, four, other4) })
	t.Run("killed", func(t *testing.T) {
		red.Kill()
		r1.Gets(t, "hop", port, beyond...)
		red = c.start("red")
		red.AuditEmpty(t)
		if s := c.state(beyondRoutes[1]); s.State != vpcroute.Active || s.NextHop.String() != six {
			t.Errorf("the route is %+v", s)
		}
		r1.Gets(t, "hop", port, beyond...)
		c.netns("red").Sh(t, "ip route del 192.168.50.0/24 via %s; ip -6 route flush proto %d fd50::/64; nft flush ruleset", four, heddle.RouteProtocol)
		world.Soon(t, "what somebody has removed is back", func() error { return r1.TryGets("hop", port, beyond...) })
		red.AuditEmpty(t)
		for range 5 { // before the patrol has mended that
			c.netns("red").Sh(t, "nft flush ruleset")
			c.unrouted(beyondRoutes[0])
			c.netns("red").Sh(t, "nft flush ruleset")
			c.routed(beyondRoutes[0], four)
		}
		r1.Gets(t, "hop", port, beyond[0])
	})
	c.unrouted(beyondRoutes...)
	r1.Silent(t, beyond...)
	if r, err := red.DeleteVPCRoute(ctx, netip.MustParsePrefix("192.168.50.0/24"), false); err != nil || r.Existed {
		t.Errorf("deleted again: %+v, %v", r, err)
	}
	if left := c.netns("red").Sh(t, "{ ip route; ip -6 route; nft list ruleset; } | grep -E '192.168.50|fd50|routed-|vpc-loops' || true"); left != "" {
		t.Errorf("left is\n%s", left)
	}
}

// routesRefused: what cannot be a route is refused, and changes nothing.
func routesRefused(t *testing.T, c *cloud, hop, other string) {
	ctx := context.Background()
	before, err := c.agents["red"].VPCRoutes(ctx)
	cell.Must(t, err)
	for _, one := range []struct {
		in, to, by string
		code       heddle.Code
	}{
		{"red", "192.168.50.0/24", other, heddle.RouteExists},
		{"red", "192.168.50.0/24", "", heddle.RouteExists},
		{"red", "192.168.51.0/24", "10.1.0.200", heddle.NoRoute}, // nobody's
		{"red", "192.168.51.0/24", "10.1.0.1", heddle.NoRoute},   // the gateway: a loop
		{"red", "192.168.51.0/24", "192.168.50.7", heddle.NoRoute},
		{"red", "192.168.51.0/24", "8.8.8.8", heddle.NoRoute},
		{"red", "192.168.51.0/24", "fd01::2", heddle.BadAddress},
		{"red", "10.1.0.0/24", hop, heddle.SubnetOverlap},
		{"red", "10.1.0.128/25", hop, heddle.SubnetOverlap},
		{"red", "10.1.1.9/32", "", heddle.SubnetOverlap},
		{"red", "fd01::/80", "", heddle.SubnetOverlap},
		{"red", "192.168.51.1/24", hop, heddle.BadSubnet},
		{"red", "127.0.0.0/8", hop, heddle.BadSubnet},
		{"red", "169.254.169.254/32", hop, heddle.BadSubnet},
		{"red", "224.0.0.0/4", hop, heddle.BadSubnet},
		{"red", "fe80::/64", "", heddle.BadSubnet},
		{"red", "::ffff:10.0.0.0/104", "", heddle.BadSubnet},
		{"", "192.168.51.0/24", "", heddle.NoRoute}, // the host's routes are its own
	} {
		if s, err := c.routeTo(one.in, one.to, one.by); !errors.Is(err, one.code.Sentinel()) {
			t.Errorf("%s by %s in %q: %+v, %v", one.to, one.by, one.in, s, err)
		}
	}
	if after, err := c.agents["red"].VPCRoutes(ctx); err != nil || len(after) != len(before) {
		t.Errorf("there is %+v, %v", after, err)
	}
	for subnet, code := range map[string]heddle.Code{"192.168.50.0/24": heddle.SubnetOverlap, "192.168.48.0/20": heddle.SubnetOverlap} {
		n := heddle.Network{Name: "over", Mode: "bridge", Subnets: []netip.Prefix{netip.MustParsePrefix(subnet)}}
		for _, dry := range []bool{true, false} {
			if _, _, err := c.agents["red"].CreateNetwork(ctx, n, dry); !errors.Is(err, code.Sentinel()) {
				t.Errorf("a network with %s, which a route would overrule: %v", subnet, err)
			}
		}
	}
	c.agents["red"].AuditEmpty(t)
}

// TestNextHopGone: a route whose next hop has gone is a blackhole, and says so, whatever shorter prefix there is. Who gets the address is not the
// next hop; an endpoint that comes again under its name is.
func TestNextHopGone(t *testing.T) {
	c := newRed(t)
	defer c.end()
	r1 := c.machines["r1"]
	c.ends("r1", "red/lan")
	other4, other6 := c.ends("other", "red/lan")
	four, six := c.ends("hop", "red/lan")
	ips := []netip.Addr{netip.MustParseAddr(four), netip.MustParseAddr(six)}
	for _, name := range []string{"hop", "other", "late"} {
		c.has(name, beyond...)
	}
	elsewhere := []netip.Addr{netip.MustParseAddr("192.168.60.7"), netip.MustParseAddr("fd60::7")}
	c.has("other", elsewhere...)
	c.routed("0.0.0.0/0", other4)
	c.routed("::/0", other6)
	r1.Gets(t, "other", port, beyond...)
	c.routed(beyondRoutes[0], four)
	c.routed(beyondRoutes[1], six)
	r1.Gets(t, "hop", port, beyond...)
	gone := func(when string) {
		t.Helper()
		for _, d := range beyondRoutes {
			if s := c.state(d); s.State != vpcroute.Blackhole || !strings.Contains(s.Cause, "gone") {
				t.Errorf("%s, the route to %s is %+v", when, d, s)
			}
		}
		seen := c.machines["other"].Capture(t, "eth0") // to which shorter prefixes lead
		r1.Silent(t, beyond...)
		if n := world.Count(seen.Stop(), func(f world.Frame) bool {
			return !f.Out && (world.Contains(string(beyond[0].AsSlice()))(f) || world.Contains(string(beyond[1].AsSlice()))(f))
		}); n > 0 {
			t.Errorf("%s, %d packets take a shorter prefix", when, n)
		}
		c.agents["red"].AuditEmpty(t)
	}
	cell.Must(t, c.service.Unplug(context.Background(), "hop", "eth0"))
	gone("without the next hop")
	if s, err := c.routeTo("red", beyondRoutes[0], four); err != nil || s.State != vpcroute.Blackhole {
		t.Errorf("what is there is added again while its next hop is away: %+v, %v", s, err)
	}
	if said := c.heddle(t, "heddle vpc show red -o wide"); !strings.Contains(said, "blackhole (endpoint ") || !strings.Contains(said, "is gone)") {
		t.Errorf("it is not said:\n%s", said)
	}
	r1.Gets(t, "other", port, elsewhere...) // the shorter prefixes are as they were
	c.plug("late", "red/lan", ips, "0.0.0.0/0", "::/0")
	gone("when another one has its address")
	c.agents["red"].Kill()
	gone2 := c.machines["late"].Capture(t, "eth0")
	c.start("red")
	gone("after a restart")
	if n := world.Count(gone2.Stop(), func(f world.Frame) bool {
		return !f.Out && (world.Contains(string(beyond[0].AsSlice()))(f) || world.Contains(string(beyond[1].AsSlice()))(f))
	}); n > 0 {
		t.Errorf("who has got the address has seen %d packets of the route", n)
	}
	cell.Must(t, c.service.Unplug(context.Background(), "late", "eth0"))
	c.unrouted(beyondRoutes...)

	// a container, which comes again under its name
	fw := &machine{Netns: world.NewNetns(t, "fw")}
	c.machines["fw"] = fw
	request := heddle.AttachRequest{Network: "lan", ID: heddle.EndpointID{Container: "fw", IfName: "eth0"}, Netns: fw.Path, IPs: ips}
	attach := func() {
		t.Helper()
		_, err := c.agents["red"].Attach(context.Background(), request)
		cell.Must(t, err)
	}
	detach := func() {
		t.Helper()
		_, err := c.agents["red"].Detach(context.Background(), request.ID)
		cell.Must(t, err)
	}
	attach()
	c.has("fw", beyond...)
	c.routed(beyondRoutes[0], four)
	c.routed(beyondRoutes[1], six)
	r1.Gets(t, "fw", port, beyond...)
	user := world.NewNetns(t, "user") // from veth to veth, where the fast path carries what it knows
	userID := heddle.EndpointID{Container: "user", IfName: "eth0"}
	_, err := c.agents["red"].Attach(context.Background(), heddle.AttachRequest{Network: "lan", ID: userID, Netns: user.Path})
	cell.Must(t, err)
	user.Gets(t, "fw", port, beyond...)
	_, err = c.agents["red"].Detach(context.Background(), userID)
	cell.Must(t, err)
	detach()
	gone("when the container is detached")
	attach()
	r1.Gets(t, "fw", port, beyond...)
	detach()
	request.IPs = nil
	attach()
	for _, d := range beyondRoutes {
		if s := c.state(d); s.State != vpcroute.Blackhole || !strings.Contains(s.Cause, "has the address no more") {
			t.Errorf("with another address, the route to %s is %+v", d, s)
		}
	}
	r1.Silent(t, beyond...)
	detach()
	delete(c.machines, "fw")
	c.unrouted(append(beyondRoutes, "0.0.0.0/0", "::/0")...)
}

// TestRoutesPoliced: the policies of who sends and of the next hop hold for what a route leads there.
func TestRoutesPoliced(t *testing.T) {
	c := newRed(t)
	defer c.end()
	r1, other := c.machines["r1"], c.machines["other"]
	r14, _ := c.ends("r1", "red/lan")
	c.ends("other", "red/lan")
	four, six := c.ends("hop", "red/lan")
	c.has("hop", beyond...)
	c.routed(beyondRoutes[0], four)
	c.routed(beyondRoutes[1], six)
	ctx, red := context.Background(), c.agents["red"]
	all, err := red.Endpoints(ctx)
	cell.Must(t, err)
	label := func(address, role string) {
		i := slices.IndexFunc(all, func(e heddle.Endpoint) bool { return e.Addrs[0].Addr().String() == address })
		change, err := heddle.ParseLabelChange([]string{"role=" + role})
		cell.Must(t, err)
		_, err = red.Label(ctx, all[i].ID, change)
		cell.Must(t, err)
	}
	inPieces := func(direction string) {
		t.Helper()
		if err := r1.Ping(beyond[0], "-s4000", "-W1"); err != nil {
			t.Errorf("a datagram in pieces does not pass the next hop's policy of %s: %v", direction, err)
		}
	}
	label(r14, "client")
	label(four, "hop")
	p, err := policy.Read(strings.NewReader(fmt.Sprintf(`
policies:
- name: client
  endpoints: {labels: {role: client}}
  rules:
  - {direction: egress, action: allow, protocol: tcp, ports: ["%d"], peers: [{cidr: 192.168.50.0/24}]}
`, port)), "the test")
	cell.Must(t, err)
	cell.Must(t, red.CreatePolicies(ctx, p, false))
	r1.Silent(t, beyond...)
	if _, err := r1.AskFrom("tcp", netip.AddrPort{}, netip.AddrPortFrom(beyond[1], port), world.Refusal); err == nil {
		t.Error("r1 reaches what its policy does not allow")
	}
	world.Soon(t, "r1 gets by TCP what its policy allows", func() error {
		_, err := r1.Ask("tcp", netip.AddrPortFrom(beyond[0], port))
		return err
	})
	other.Gets(t, "hop", port, beyond...)
	cell.Must(t, red.DeletePolicy(ctx, "client"))
	p, err = policy.Read(strings.NewReader(fmt.Sprintf(`
policies:
- name: hop
  endpoints: {labels: {role: hop}}
  rules:
  - {direction: ingress, action: allow, peers: [{cidr: %s/32}]}
`, r14)), "the test")
	cell.Must(t, err)
	cell.Must(t, red.CreatePolicies(ctx, p, false))
	r1.Gets(t, "hop", port, beyond[0])
	inPieces("ingress")
	other.Silent(t, beyond...)
	p, err = policy.Read(strings.NewReader(fmt.Sprintf(`
policies:
- name: hop
  endpoints: {labels: {role: hop}}
  rules:
  - {direction: egress, action: allow, peers: [{cidr: %s/32}]}
`, r14)), "the test")
	cell.Must(t, err)
	cell.Must(t, red.DeletePolicy(ctx, "hop"))
	cell.Must(t, red.CreatePolicies(ctx, p, false))
	r1.Gets(t, "hop", port, beyond[0])
	inPieces("egress")
	other.Silent(t, beyond...)
	cell.Must(t, red.DeletePolicy(ctx, "hop"))
	other.Gets(t, "hop", port, beyond...)
	c.unrouted(beyondRoutes...)
}
