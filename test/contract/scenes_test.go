package contract_test

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/bridge"
	"github.com/heddle-network/heddle/mode/macvlan"
	"github.com/heddle-network/heddle/mode/routed"
	"github.com/heddle-network/heddle/test/cell"
)

// scene is a network and its endpoints, as a mode plans them.
type scene struct {
	name     string
	network  heddle.Plan
	endpoint func(i int) heddle.Plan
	// prefix is of nobody's.
	prefix netip.Prefix
}

// uplink is what the host has.
var uplink = heddle.LinkFact{Name: "up0", MTU: 1500, MAC: "02:00:00:00:00:01", Up: true,
	Addrs:    []netip.Prefix{netip.MustParsePrefix("198.51.100.2/24"), netip.MustParsePrefix("2001:db8:1::2/64")},
	Gateways: []netip.Addr{netip.MustParseAddr("198.51.100.1")}}

// farEnd is the other end of the uplink, without addresses.
var farEnd = heddle.LinkFact{Name: "up1", MTU: 1500, MAC: "02:00:00:00:00:02", Up: true}

func scenes(t testing.TB) []scene {
	lan := []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:1::/64")}
	own := []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16"), netip.MustParsePrefix("fd20::/64")}
	return []scene{
		newScene(t, bridge.Mode{}, own, nil, 1),
		newScene(t, routed.Mode{}, own, map[string]string{"table": "auto", "next-hop": "198.51.100.1+2001:db8:1::1"}, 1),
		newScene(t, routed.Mode{}, own, map[string]string{"plug": "lan"}, 1),
		newScene(t, macvlan.Mode{}, lan, nil, 0),
	}
}

func newScene(t testing.TB, mode heddle.Mode, subnets []netip.Prefix, options map[string]string, ports int) scene {
	s := scene{name: mode.Name(), prefix: netip.MustParsePrefix("203.0.113.0/24")}
	n := heddle.Network{ID: "00000000000000aa", Name: "demo", Mode: mode.Name(), MTU: 1400, Parent: "up0", Options: options, Subnets: subnets}
	for _, subnet := range subnets {
		n.Gateways = append(n.Gateways, subnet.Addr().Next())
	}
	var on *heddle.ParentNIC
	if options["plug"] != "" {
		on = &heddle.ParentNIC{Name: farEnd.Name, MAC: farEnd.MAC, MTU: 1500, Gateways: n.Gateways, Routed: &heddle.RoutedNIC{Table: heddle.ParentTables,
			Addrs: []netip.Prefix{netip.MustParsePrefix("10.20.255.1/16"), netip.MustParsePrefix("fd20::ff01/64")}}}
		s.name, n.Parent, n.Gateways = "plugged", "", nil
	}
	facts := heddle.HostFacts{Name: "h", Links: []heddle.LinkFact{uplink}}
	cell.Must(t, mode.Check(facts, n))
	var err error
	s.network, err = mode.Network(facts, n)
	cell.Must(t, err)
	// what the fast path knows needs a kernel that has it; the suite is about all others
	s.network.Host = s.network.Host.Filter(slow)
	s.endpoint = func(i int) heddle.Plan {
		id := heddle.EndpointID{Container: fmt.Sprintf("c%d", i), IfName: "eth0"}
		e := heddle.Endpoint{ID: id, Network: n.ID, NetworkName: n.Name, MTU: 1400, MAC: id.DefaultMAC(n.ID, 0), Slot: i, DefaultRoute: true, Parent: on}
		for _, subnet := range subnets {
			addr := subnet.Addr()
			for range i + 10 {
				addr = addr.Next()
			}
			e.Addrs = append(e.Addrs, netip.PrefixFrom(addr, subnet.Bits()))
		}
		e.Ports = []heddle.PortMapping{{HostPort: uint16(10000 + i), ContainerPort: 80, Protocol: "tcp"}}[:ports]
		if ports > 0 { // its port is on the host
			e.Limits = heddle.RateLimits{In: heddle.RateLimit{Rate: 1e6, Burst: 20e3}, Out: heddle.RateLimit{Rate: 40e9, Burst: 1e6}}
		}
		p, err := mode.Endpoint(facts, n, e)
		cell.Must(t, err)
		p.Host = p.Host.Filter(slow)
		return p
	}
	return s
}

func slow(o heddle.Object) bool {
	switch o := o.(type) {
	case heddle.Program, heddle.Shortcut, heddle.Remote:
		return false
	case heddle.Sysctl: // an interface of the kernel has these by itself
		return o.Value != "0" || !slices.Contains([]string{"proxy_arp", "proxy_arp_pvlan", "disable_ipv6", "addr_gen_mode"}, path.Base(o.Name))
	}
	return true
}

// changed is a plan with the same objects, of which some have other values.
func (s scene) changed(p heddle.Plan) heddle.Plan {
	const mac = heddle.MAC("0a:00:00:00:77:77")
	p.Host.Links, p.Pod.Links = slices.Clone(p.Host.Links), slices.Clone(p.Pod.Links)
	for _, all := range [][]heddle.Link{p.Host.Links, p.Pod.Links} {
		for i := range all {
			if all[i].MTU != 0 {
				all[i].MTU = 1300
			}
		}
	}
	p.Host.Neighbours, p.Pod.Neighbours = slices.Clone(p.Host.Neighbours), slices.Clone(p.Pod.Neighbours)
	for _, all := range [][]heddle.Neighbour{p.Host.Neighbours, p.Pod.Neighbours} {
		for i := range all {
			all[i].MAC = mac
		}
	}
	p.Host.Elements = slices.Clone(p.Host.Elements)
	for i, e := range p.Host.Elements {
		if e.Set == "who4" || e.Set == "who6" {
			p.Host.Elements[i].Value = []string{string(mac)}
		}
	}
	p.Host.Rules = slices.Clone(p.Host.Rules)
	for i := range p.Host.Rules {
		p.Host.Rules[i].Table++
	}
	p.Pod.Routes = slices.Clone(p.Pod.Routes)
	for i := range p.Pod.Routes {
		p.Pod.Routes[i].MTU = 1300
	}
	return p
}
