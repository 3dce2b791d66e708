package path_test

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/path"
)

// TestTable: a name belongs to one path, and the status does not use it for anything else.
func TestTable(t *testing.T) {
	seen := map[string]bool{"": true, "none": true}
	for _, p := range path.All() {
		if seen[p.Name()] {
			t.Errorf("the name %q is taken", p.Name())
		}
		seen[p.Name()] = true
		if found, ok := path.Named(p.Name()); !ok || found != p {
			t.Errorf("%s is not found by its name", p.Name())
		}
		if path.Of(&heddle.Fabric{Path: p.Name()}) != p {
			t.Errorf("%s is not the path of a cluster that says so", p.Name())
		}
	}
	if _, known := path.Named("pigeons"); known {
		t.Error("a name that nobody has is known")
	}
	if path.Of(nil) != path.Default() || path.Of(&heddle.Fabric{}) != path.Default() {
		t.Error("without a name the path is not the default one")
	}
}

// TestContract: every path has the properties that networks that span hosts rely on.
func TestContract(t *testing.T) {
	host := func(id string, addrs ...string) heddle.Host {
		h := heddle.Host{Name: id, ID: id, MTU: 1500, PrivilegedPorts: true}
		for _, a := range addrs {
			h.Underlay = append(h.Underlay, netip.MustParseAddr(a))
		}
		return h
	}
	for _, p := range path.All() {
		f := &heddle.Fabric{Cluster: "c", VNI: 7, Port: p.Port(), Path: p.Name(), Self: host("a", "192.0.2.1", "2001:db8::1"),
			Peers: []heddle.Host{host("b", "192.0.2.2"), host("c", "2001:db8::3")}}
		plan := heddle.Plan{Host: p.Host(heddle.HostFacts{Fabric: f})}
		for i, over := range heddle.Families() {
			plan.Host = heddle.Append(plan.Host, p.Peer(f, f.Peers[i], over))
			if p.Overhead(over) < 0 || path.Room(f, f.Peers[i], over) != 1500-p.Overhead(over) {
				t.Errorf("%s over %s takes %d bytes", p.Name(), over, p.Overhead(over))
			}
			for _, l := range plan.Host.Links {
				if l.Name == p.Device(f, over) && (l.Kind != p.Kind() || l.Group != f.TunnelGroup()) {
					t.Errorf("%s: device %+v is not known by its kind and group", p.Name(), l)
				}
			}
			for _, to := range heddle.Families() {
				if hop := p.Hop(f.Peers[i], over, to); to == heddle.IPv6 && hop.Is4() {
					t.Errorf("%s over %s: next hop %s of IPv6", p.Name(), over, hop)
				}
			}
		}
		if wrong := plan.Misplaced(); len(wrong) > 0 {
			t.Errorf("%s: misplaced: %v", p.Name(), wrong)
		}
	}
}
