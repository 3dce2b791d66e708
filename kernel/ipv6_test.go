package kernel

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestClosedWithoutIPv6: of what keeps containers from a closed destination of each family, a kernel without IPv6 gets what it can have: the redirects of
// both, and the rest of IPv4. What else needs IPv6 it is asked for, and refuses.
func TestClosedWithoutIPv6(t *testing.T) {
	four, six := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::1/128")
	var s heddle.State
	for _, p := range []netip.Prefix{six, four} {
		s.Rules = append(s.Rules, heddle.Rule{Priority: 1, Iif: "eth1", To: p, Table: 5})
		s.Routes = append(s.Routes, heddle.Route{Dst: heddle.FamilyOf(p.Addr()).Any(), Type: "unreachable", Table: 5})
		s.Redirects = append(s.Redirects, heddle.Redirect{Link: "eth1", To: "into", Prefix: p})
	}
	s.Rules = append(s.Rules, heddle.Rule{Priority: 1, Iif: "eth1", To: six, Table: 6})
	s.Routes = append(s.Routes, heddle.Route{Dst: six, Link: "eth1"}, heddle.Route{Dst: six.Masked(), Type: "unreachable"}, heddle.Route{Dst: heddle.IPv6.Any(), Type: "unreachable"})
	got := onIPv4(heddle.Plan{Host: s}).Host
	if !slices.Equal(got.Redirects, s.Redirects) || !slices.Equal(got.Rules, s.Rules[1:]) || !slices.Equal(got.Routes, s.Routes[1:]) {
		t.Errorf("%+v", got)
	}
}
