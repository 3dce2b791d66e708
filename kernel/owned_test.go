package kernel

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestOwnRouteOfNewLink: a route whose link is made while what is ours is listed is not found without its link, as one that
// nobody wants, and so is not removed.
func TestOwnRouteOfNewLink(t *testing.T) {
	r := newRoom(t)
	r.sh("ip link add d0 type veth peer name d1; ip link set d0 up; ip link set d1 up")
	plan := func(link, to string) heddle.Plan {
		return heddle.Plan{Host: heddle.State{Routes: []heddle.Route{{Dst: netip.MustParsePrefix(to), Link: link}}}}
	}
	if _, err := r.k.Apply(plan("d0", "10.9.0.0/24"), nil); err != nil {
		t.Fatal(err)
	}
	v := r.k.inventory()
	if _, err := v.names(); err != nil {
		t.Fatal(err)
	}
	r.sh("ip link add d2 type veth peer name d3; ip link set d2 up; ip link set d3 up")
	later := plan("d2", "10.9.1.0/24")
	if _, err := r.k.Apply(later, nil); err != nil {
		t.Fatal(err)
	}
	if err := (routeKind{}).own(v); err != nil {
		t.Fatal(err)
	}
	if found := v.found.Routes; len(found) != 1 || found[0].Link != "d0" {
		t.Errorf("ours are %+v", found)
	}
	all, err := r.k.Ours()
	if err != nil || len(all.State.Routes) != 2 {
		t.Errorf("afterwards %+v, %v", all.State.Routes, err)
	}
}
