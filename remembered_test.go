package heddle

import (
	"net/netip"
	"testing"
)

// TestCreateCommand: the command has every setting, quoted for a shell.
func TestCreateCommand(t *testing.T) {
	n := Network{Name: "front", Mode: "macvlan", Parent: "eth0", MTU: 1400, Internal: true, Options: map[string]string{"b": "x y", "a": "1"},
		Subnets: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/24")}, Gateways: []netip.Addr{netip.MustParseAddr("10.20.0.1")}, Labels: map[string]string{"tier": "web"}}
	const want = "heddle network create front --mode macvlan --subnet 10.20.0.0/24 --gateway 10.20.0.1 --parent eth0 --mtu 1400 --internal --opt a=1 --opt 'b=x y' --label tier=web"
	if got := n.CreateCommand(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestFits: what an engine does not know differs in nothing.
func TestFits(t *testing.T) {
	four, six := netip.MustParsePrefix("10.20.0.0/24"), netip.MustParsePrefix("fd20::/64")
	is := Network{Name: "front", Mode: "bridge", Subnets: []netip.Prefix{four, six}}
	for _, c := range []struct {
		remembered Network
		want       bool
	}{
		{Network{}, true}, {Network{Mode: "bridge", Subnets: []netip.Prefix{six, four}}, true}, {Network{Mode: "routed"}, false},
		{Network{Internal: true}, false}, {Network{Subnets: []netip.Prefix{four}}, false},
		{Network{Subnets: []netip.Prefix{four, six, netip.MustParsePrefix("10.21.0.0/24")}}, false},
	} {
		if got := is.Fits(c.remembered); got != c.want {
			t.Errorf("%+v: %t", c.remembered, got)
		}
	}
}
