package gateway

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/heddle-network/heddle"
)

func network(subnets ...string) heddle.Network {
	n := heddle.Network{ID: "0123456789abcdef", Name: "vpc-red", Mode: heddle.ModeGateway, MTU: 1400}
	for _, s := range subnets {
		p := netip.MustParsePrefix(s)
		n.Subnets, n.Gateways = append(n.Subnets, p), append(n.Gateways, p.Addr().Next())
	}
	return n
}

// TestEnds: the ends of a link are of one pair, and each knows the other's addresses for good. Only what the network has of a family is there.
func TestEnds(t *testing.T) {
	for _, subnets := range [][]string{{"100.64.0.4/30", "fd64::4/126"}, {"100.64.0.4/30"}, {"fd64::4/126"}} {
		outer, inner := network(subnets...), network(subnets...)
		outer.Options = map[string]string{OptionVPC: "red"}
		host, err := OfHost{}.Network(heddle.HostFacts{}, outer)
		if err != nil {
			t.Fatal(err)
		}
		vpc, err := OfVPC{VPC: "red"}.Network(heddle.HostFacts{}, inner)
		if err != nil {
			t.Fatal(err)
		}
		h, v := host.Host.Links[0], vpc.Host.Links[0]
		if h.Peer != v.Name || h.PeerNetns != heddle.VPCNetns("red") || v.Peer != "" || !v.MadeElsewhere || h.MTU != 1400 || v.MTU != 1400 {
			t.Errorf("the ends are %+v and %+v", h, v)
		}
		for _, pair := range [][2]heddle.Plan{{host, vpc}, {vpc, host}} {
			near, far := pair[0].Host, pair[1].Host
			if len(near.Addresses) != len(subnets) || len(near.Neighbours) != len(subnets) {
				t.Errorf("of %v there is %+v, %+v", subnets, near.Addresses, near.Neighbours)
			}
			for _, n := range near.Neighbours {
				if n.MAC != far.Links[0].MAC || !slices.ContainsFunc(far.Addresses, func(a heddle.Address) bool { return a.Prefix.Addr() == n.Addr }) {
					t.Errorf("neighbour %+v of %+v", n, far.Addresses)
				}
			}
		}
	}
}

// TestCheck: what is no link's network is refused.
func TestCheck(t *testing.T) {
	good := network("100.64.0.4/30")
	good.Options = map[string]string{OptionVPC: "red"}
	if err := (OfHost{}).Check(heddle.HostFacts{}, good); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*heddle.Network){
		"no subnet":       func(n *heddle.Network) { n.Subnets, n.Gateways = nil, nil },
		"another gateway": func(n *heddle.Network) { n.Gateways = []netip.Addr{netip.MustParseAddr("100.64.0.6")} },
		"internal":        func(n *heddle.Network) { n.Internal = true },
		"a parent":        func(n *heddle.Network) { n.Parent = "eth0" },
		"ranges":          func(n *heddle.Network) { n.Ranges = n.Subnets },
		"no VPC":          func(n *heddle.Network) { n.Options = nil },
		"another option":  func(n *heddle.Network) { n.Options = map[string]string{OptionVPC: "red", "peer": "blue"} },
		"no name":         func(n *heddle.Network) { n.Options = map[string]string{OptionVPC: "../red"} },
	} {
		n := good
		change(&n)
		if (OfHost{}).Check(heddle.HostFacts{}, n) == nil {
			t.Errorf("%s: it is taken", what)
		}
	}
	if (OfVPC{VPC: "red"}).Check(heddle.HostFacts{}, good) == nil {
		t.Error("a VPC's half names a VPC")
	}
	if _, err := (OfHost{}).Endpoint(heddle.HostFacts{}, good, heddle.Endpoint{}); err == nil {
		t.Error("it has endpoints")
	}
}
