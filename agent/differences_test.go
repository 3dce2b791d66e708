package agent

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestDifferences: each setting that differs is told, with what is there and what was asked for.
func TestDifferences(t *testing.T) {
	has := heddle.Network{Name: "n", Mode: "bridge", MTU: 1500, Subnets: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/24")},
		Labels: map[string]string{"tier": "web"}, Options: map[string]string{"broadcast": "true"}}
	for _, c := range []struct {
		change func(*heddle.Network)
		want   string
	}{
		{func(*heddle.Network) {}, ""},
		{func(n *heddle.Network) { n.Labels = nil }, ""}, // any will do
		{func(n *heddle.Network) { n.MTU = 1400 }, "MTU (has 1500, asked 1400)"},
		{func(n *heddle.Network) { n.Subnets = nil }, "subnets (has 10.20.0.0/24, asked none)"},
		{func(n *heddle.Network) { n.Parent, n.Internal = "eth0", true }, "parent (has none, asked eth0), internal (has false, asked true)"},
		{func(n *heddle.Network) { n.Options = nil }, "options (has broadcast=true, asked none)"},
		{func(n *heddle.Network) { n.Labels = map[string]string{"tier": "db", "x": ""} }, "labels (has tier=web, asked tier=db, x=)"},
	} {
		asked := has
		c.change(&asked)
		if got := networkDifferences(has, asked).String(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestRequestDifferences(t *testing.T) {
	ip := []netip.Addr{netip.MustParseAddr("10.20.0.9"), netip.MustParseAddr("fd20::9")}
	has := record{Endpoint: heddle.Endpoint{Network: "a", NetworkName: "front"}, Request: heddle.AttachRequest{IPs: ip, Name: "web"}}
	got := requestDifferences(has, heddle.Network{ID: "b", Name: "back"}, heddle.AttachRequest{MAC: "0a:00:00:00:00:09", Aliases: []string{"api"}, NoFastPath: true}).String()
	want := "network (has front, asked back), addresses (has 10.20.0.9 fd20::9, asked any), MAC address (has any, asked 0a:00:00:00:00:09), name (has web, asked none), aliases (has none, asked api), no fast path (has false, asked true)"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if d := requestDifferences(has, heddle.Network{ID: "a"}, has.Request); len(d) > 0 {
		t.Error(d)
	}
}
