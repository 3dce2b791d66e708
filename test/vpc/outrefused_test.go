package vpc_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/vpc"
	"github.com/heddle-network/heddle/vpcroute"
)

// TestOutRefused: what cannot be led out is refused, and nothing is made. The link's subnet is one that neither the host nor the VPC has.
func TestOutRefused(t *testing.T) {
	c := newCloud(t, []string{"red"}, nil)
	defer c.end()
	internet(t)
	c.network("red", "lan", "10.1.0.0/24", "fd01::/64")
	ctx, before := context.Background(), hostTraces(t)
	refused := func(what string, r vpcroute.Route, code heddle.Code) {
		t.Helper()
		if _, err := vpc.AddRoute(ctx, c.of(), "red", r); !errors.Is(err, code.Sentinel()) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := vpc.AddRouteCommands(ctx, c.of(), "red", r); !errors.Is(err, code.Sentinel()) {
			t.Errorf("a dry run, %s: %v", what, err)
		}
		if all, err := c.agents["red"].VPCRoutes(ctx); err != nil || len(all) > 0 {
			t.Errorf("%s: there is %+v, %v", what, all, err)
		}
		if after := hostTraces(t); after != before {
			t.Errorf("%s: on the host there is\n%s", what, after)
		}
		for _, a := range c.agents {
			if !a.Dead() {
				a.AuditEmpty(t)
			}
		}
	}
	all := vpcroute.Route{Destination: netip.MustParsePrefix("0.0.0.0/0"), Host: true}
	refused("link-local", vpcroute.Route{Destination: netip.MustParsePrefix("169.254.0.0/16"), Host: true}, heddle.BadSubnet)
	refused("two next hops", vpcroute.Route{Destination: all.Destination, Host: true, NextHop: same[0]}, heddle.BadArgument)
	if _, err := c.agents["red"].AddVPCRoute(ctx, all, false); !errors.Is(err, heddle.NoRoute.Sentinel()) {
		t.Errorf("a route without a way out: %v", err)
	}
	if _, err := c.agents[""].AddVPCRoute(ctx, all, false); !errors.Is(err, heddle.NoRoute.Sentinel()) {
		t.Errorf("a route of the host's: %v", err)
	}
	if _, err := vpc.AddRoute(ctx, c.of(), "no/name", all); !errors.Is(err, heddle.BadName.Sentinel()) {
		t.Errorf("no VPC: %v", err)
	}
	taken := func(subnet string) {
		t.Helper()
		_, _, err := c.agents["red"].CreateNetwork(ctx, heddle.Network{Name: "shared", Mode: "bridge", Subnets: []netip.Prefix{netip.MustParsePrefix(subnet)}}, false)
		cell.Must(t, err)
	}
	taken("100.64.0.0/10")
	refused("the VPC has all addresses for links", all, heddle.SubnetOverlap)
	cell.Must(t, c.agents["red"].DeleteNetwork(ctx, "shared"))
	c.network("red", vpc.HostName, "10.7.0.0/24")
	refused("a network of the VPC's has the name", all, heddle.NetworkExists)
	cell.Must(t, c.agents["red"].DeleteNetwork(ctx, vpc.HostName))
	for _, n := range []heddle.Network{{Options: map[string]string{"vpc": "../x"}}, {}, {Options: map[string]string{"vpc": "red"}, Internal: true}, {Options: map[string]string{"vpc": "red"}, Parent: "up0"}, {Options: map[string]string{"peer": "red"}}} {
		n.Name, n.Mode = "odd", heddle.ModeGateway
		if made, _, err := c.agents[""].CreateNetwork(ctx, n, false); err == nil {
			t.Errorf("there is %+v", made)
		}
	}
	if _, _, err := c.agents[""].CreateNetwork(ctx, heddle.Network{Name: "odd", Mode: heddle.ModeGateway, Options: map[string]string{"vpc": "absent"}}, false); err == nil {
		t.Error("there is a way out of a VPC that is not there")
	}
	c.agents[""].Stop()
	refused("the host's agent is away", all, heddle.AgentDown)
	c.start("")

	// the host has the usual addresses for links
	cell.Sh(t, "ip route add 100.64.0.0/10 via %s", outsideAddrs[0])
	c.out("red", "0.0.0.0/0")
	if _, gates := c.insides("red"); !netip.MustParsePrefix("10.128.0.0/9").Contains(gates[0]) {
		t.Errorf("the host's end has %s", gates[0])
	}
	if err := c.netns("red").TryGets("internet", port, outsideAddrs[0]); err != nil {
		t.Error(err)
	}
	cell.Sh(t, "ip route del 100.64.0.0/10")
	// what was cut off: one half is left, and is made whole, or is taken away
	for _, half := range []string{"", "red"} {
		found, err := vpc.FindOut(ctx, c.of(), "red")
		cell.Must(t, err)
		cell.Must(t, c.agents[half].DeleteNetwork(ctx, map[string]heddle.Network{"": found.Outside, "red": found.Inside}[half].Name))
		if s := c.state("0.0.0.0/0"); half == "red" && s.State != vpcroute.Blackhole {
			t.Errorf("without the VPC's half, the route is %+v", s)
		}
		c.out("red", "0.0.0.0/0")
		if err := c.netns("red").TryGets("internet", port, outsideAddrs[0]); err != nil {
			t.Errorf("without the half of %q: %v", half, err)
		}
	}
	found, err := vpc.FindOut(ctx, c.of(), "red")
	cell.Must(t, err)
	cell.Must(t, c.agents["red"].DeleteNetwork(ctx, found.Inside.Name))
	c.notOut("red", "0.0.0.0/0")
	if existed, err := vpc.DeleteRoute(ctx, c.of(), "red", all.Destination); existed || err != nil {
		t.Errorf("deleted again: %v, %v", existed, err)
	}
	if after := hostTraces(t); after != before {
		t.Errorf("left is\n%s\nbefore it was\n%s", after, before)
	}
}
