package ipvlan

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestPlugged: the network itself has nothing on the host but the firewall; each endpoint brings its parent along, and what is shared on it.
// Endpoints on one parent want the same of it.
func TestPlugged(t *testing.T) {
	n := network(plugged)
	n.Options["services"] = "172.16.0.0/12"
	alone, err := Mode{}.Network(facts, n)
	if err != nil || len(alone.Host.Links)+len(alone.Host.Redirects)+len(alone.Host.Rules) > 0 {
		t.Errorf("%+v, %v", alone.Host, err)
	}
	endpoint := func(name, parent, addr string) heddle.Plan {
		t.Helper()
		l, _ := facts.Link(parent)
		p, err := Mode{}.Endpoint(facts, n, heddle.Endpoint{ID: heddle.EndpointID{Container: name, IfName: "eth0"}, DefaultRoute: true, MTU: 1500, MAC: l.MAC,
			Addrs: []netip.Prefix{netip.MustParsePrefix(addr)}, Parent: &heddle.ParentNIC{Name: parent, MAC: l.MAC, MTU: 1500, Gateways: facts.Links[0].Gateways}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	one, same, other := endpoint("a", "eth1", "10.0.0.11/16"), endpoint("b", "eth1", "10.0.0.12/16"), endpoint("c", "eth2", "10.0.0.13/16")
	for _, p := range []heddle.Plan{one, other} {
		parent := p.Host.Links[0].Name
		if p.Host.Links[0].Kind != "" || p.Host.Links[1].Parent != parent || p.Pod.Links[1].Parent != parent || p.Host.Redirects[0].Link != parent || len(p.Host.Firewall) > 0 {
			t.Errorf("on %s: %+v", parent, p)
		}
		if !slices.ContainsFunc(p.Pod.Routes, func(r heddle.Route) bool { return r.Dst.Bits() == 0 && r.Via == facts.Links[0].Gateways[0] }) {
			t.Errorf("on %s there is no default route: %+v", parent, p.Pod.Routes)
		}
	}
	if _, conflicts := one.Host.Union(same.Host); len(conflicts) > 0 {
		t.Errorf("endpoints on one NIC conflict: %v", conflicts)
	}
	if add, _ := heddle.Delta(one.Host, same.Host); len(add.Links) > 0 {
		t.Errorf("an endpoint on the same NIC makes %v", add.Links)
	}
}

// TestClosed: what a NIC must not lead to is closed to a container by a route of its own, in the families of its addresses, and by the host in both: what
// is sent there leaves by no parent, and is forwarded from none.
func TestClosed(t *testing.T) {
	closed := []netip.Prefix{netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("fd00:100::100:200/128")}
	for _, services := range []string{"", "172.16.0.0/12", "100.100.100.200/32"} {
		n := network(plugged)
		n.Options["services"] = services
		l, _ := facts.Link("eth1")
		p, err := Mode{}.Endpoint(facts, n, heddle.Endpoint{ID: heddle.EndpointID{Container: "a", IfName: "eth0"}, DefaultRoute: true, MTU: 1500, MAC: l.MAC,
			Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.11/16")}, Parent: &heddle.ParentNIC{Name: "eth1", MAC: l.MAC, MTU: 1500, Closed: closed}})
		if err != nil {
			t.Fatal(err)
		}
		if first := p.Pod.Routes[0]; first.Dst != closed[0] || first.Type != "unreachable" || slices.ContainsFunc(p.Pod.Routes[1:], func(r heddle.Route) bool { return r.Type != "" }) {
			t.Errorf("services %q: the container has %+v", services, p.Pod.Routes)
		}
		slave := heddle.Slave(l, "l2").Name
		for _, c := range closed {
			caught := 0
			for _, r := range p.Host.Redirects {
				if r == (heddle.Redirect{Link: "eth1", To: slave, Prefix: c}) {
					caught++
				}
			}
			if caught != 1 {
				t.Errorf("services %q: %v is caught %d times: %+v", services, c, caught, p.Host.Redirects)
			}
			for _, from := range []string{"eth1", slave} {
				if !slices.Contains(p.Host.Rules, heddle.Rule{Priority: servicePriority, Iif: from, To: c, Table: serviceTable}) {
					t.Errorf("services %q: what comes by %s for %v is forwarded: %+v", services, from, c, p.Host.Rules)
				}
			}
			if !slices.Contains(p.Host.Routes, heddle.Route{Dst: heddle.FamilyOf(c.Addr()).Any(), Type: "unreachable", Table: serviceTable}) {
				t.Errorf("services %q: %+v", services, p.Host.Routes)
			}
		}
	}
}

// TestPlugWithDHCP: who plugs a parent in says which addresses there are. What to do instead is said in words that do not refuse each other.
func TestPlugWithDHCP(t *testing.T) {
	n := heddle.Network{Name: "n", Mode: "ipvlan", Options: map[string]string{"plug": "lan", "addresses": "dhcp"}}
	err := Mode{}.Check(facts, n)
	if heddle.BadOption.In(err) == nil || !strings.Contains(err.Error(), "leave --opt addresses out") {
		t.Errorf("%v", err)
	}
}
