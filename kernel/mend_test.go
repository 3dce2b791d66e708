package kernel

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/test/cell"
)

// TestMend has a plan with objects that the kernel refuses. Apply makes nothing. Mend makes all
// others, and reports those that it did not make. A link without its settings stays down.
func TestMend(t *testing.T) {
	r := newRoom(t)
	r.sh("ip link add d0 type veth peer name d1; ip link set d0 up; ip link set d1 up; ip address add 10.1.0.1/24 dev d0")
	s := heddle.State{Firewall: firewall.Base()}
	for _, a := range []string{"10.9.0.0/24", "10.9.1.0/24", "10.9.2.0/24"} {
		s.Routes = append(s.Routes, heddle.Route{Dst: netip.MustParsePrefix(a), Link: "d0", Via: netip.MustParseAddr("10.1.0.9")})
	}
	s.Routes[1].Via = netip.MustParseAddr("224.0.0.1") // no next hop
	s.Links = []heddle.Link{{Name: "hv40000000", Kind: "vxlan", MTU: 70000, MAC: "0e:00:00:00:00:01", Group: heddle.GroupBase, Alias: heddle.Mark + " x",
		Tunnel: &heddle.Tunnel{VNI: 7, Local: netip.MustParseAddr("10.1.0.1"), Port: 4789}}}
	for _, group := range []string{"0x68000020", "no group", "0x68000022"} {
		s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "spans", Match: []string{group}})
	}
	plan := heddle.Plan{Host: s}
	if made, err := r.k.Apply(plan, nil); err == nil || len(made) > 0 {
		t.Fatalf("applied: %v, %v", made, err)
	}
	if strings.Contains(r.sh("ip route"), "10.9.") {
		t.Error("something of what was refused as a whole is there")
	}
	made, err := r.k.Mend(s)
	if err == nil || !strings.Contains(err.Error(), "10.9.1.0/24") || !strings.Contains(err.Error(), "no group") || !strings.Contains(err.Error(), "hv40000000") {
		t.Errorf("of what is refused is told: %v", err)
	}
	for _, o := range []string{s.Routes[0].Key(), s.Routes[2].Key(), s.Elements[0].Key(), s.Elements[2].Key()} {
		if !slices.Contains(made, o) {
			t.Errorf("%s was not made: %v", o, made)
		}
	}
	if out := r.sh("ip route; nft list set inet heddle spans; ip -o link show"); strings.Count(out, "10.9.") != 2 || !strings.Contains(out, "1744830496") || !strings.Contains(out, "1744830498") ||
		strings.Contains(out, "hv40000000: <BROADCAST,MULTICAST,UP") {
		t.Errorf("there is\n%s", out)
	}
	if made, err := r.k.Mend(s); err == nil || slices.Contains(made, s.Routes[0].Key()) {
		t.Errorf("again: %v, %v", made, err)
	}
}

// TestHostRoutes distinguishes the host's own routes from ours, and from entries that are no routes
// of the host.
func TestHostRoutes(t *testing.T) {
	r := newRoom(t)
	r.sh(`ip link add d0 type veth peer name d1; ip link set d0 up; ip link set d1 up; ip address add 192.0.2.1/24 dev d0; ip address add 2001:db8::1/64 dev d0 nodad
		ip route add default via 192.0.2.9; ip route add 0.0.0.0/1 via 192.0.2.9; ip route add 128.0.0.0/1 via 192.0.2.9; ip route add 10.8.0.0/16 via 192.0.2.9
		ip route add 10.9.0.0/16 dev d0 proto 104; ip route add unreachable 10.0.0.0/8; ip route add 10.7.0.0/16 dev d0 table 99
		ip -6 route add 2000::/3 via 2001:db8::9; ip -6 route add fd08::/16 via 2001:db8::9; ip -6 route add blackhole fd00::/8`)
	got, err := r.k.HostRoutes()
	cell.Must(t, err)
	var texts []string
	for _, p := range got {
		texts = append(texts, p.String())
	}
	slices.Sort(texts)
	if want := []string{"10.8.0.0/16", "192.0.2.0/24", "2001:db8::/64", "fd08::/16"}; !slices.Equal(texts, want) {
		t.Errorf("%v, want %v", texts, want)
	}
}
