package names_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
)

func addrs(all ...string) (some []netip.Addr) {
	for _, a := range all {
		some = append(some, netip.MustParseAddr(a))
	}
	return some
}

func endpoint(host, container, name string, aliases []string, at ...string) names.Endpoint {
	return names.Endpoint{ID: heddle.EndpointID{Container: container, IfName: "eth0"}, Host: host, Name: name, Aliases: aliases, Addrs: addrs(at...)}
}

var app = names.Network{ID: "1", Name: "App", Listen: addrs("10.1.0.1", "fd01::1"),
	Subnets: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd01::/64")},
	Endpoints: []names.Endpoint{
		endpoint("", "c1", "Web", []string{"api"}, "10.1.0.2", "fd01::2"),
		endpoint("host2", "c2", "db", []string{"api", "store.shop"}, "10.1.0.3"),
		endpoint("host3", "c3", "db", nil, "10.1.0.4"),
		endpoint("", "c4", "", nil, "10.1.0.5"),
		endpoint("", "c5", "not a name", []string{strings.Repeat("x", 64), "a..b", ".", "-_9"}, "10.1.0.6"),
	}}

var back = names.Network{ID: "2", Name: "back", Internal: true, Listen: addrs("10.2.0.1"),
	Subnets: []netip.Prefix{netip.MustParsePrefix("10.2.0.0/24")},
	Endpoints: []names.Endpoint{
		endpoint("", "c1", "web", nil, "10.2.0.2"),
		endpoint("", "c6", "web.app", nil, "10.2.0.3"),
		endpoint("", "c7", "plain", nil),
	}}

func table(all ...names.Network) *names.Table {
	var indexes []*names.Index
	for _, n := range all {
		indexes = append(indexes, names.NewIndex(n))
	}
	return names.NewTable(indexes...)
}

func TestWhoAsks(t *testing.T) {
	tb := table(app, back)
	for _, c := range []struct {
		listen, source, container string
		internal                  bool
	}{
		{"10.1.0.1", "10.1.0.2", "c1", false},
		{"fd01::1", "fd01::2", "c1", false},
		{"10.2.0.1", "10.2.0.2", "c1", false},
		{"10.2.0.1", "10.2.0.3", "c6", true},
		{"10.1.0.1", "10.1.0.5", "c4", false}, // without a name of its own
		{"10.1.0.1", "10.1.0.3", "", false},   // of another host
		{"10.1.0.1", "10.2.0.3", "", false},   // of another network
		{"10.1.0.1", "10.1.0.99", "", false},
		{"10.1.0.9", "10.1.0.2", "", false},
		{"fd01::1", "10.1.0.2", "", false},
	} {
		a := tb.Asker(netip.MustParseAddr(c.listen), netip.MustParseAddr(c.source))
		if a == nil && c.container == "" {
			continue
		}
		if a == nil || a.Container != c.container || a.Internal != c.internal {
			t.Errorf("%s at %s is %+v, want %s", c.source, c.listen, a, c.container)
		}
	}
	if want := map[string]bool{"c1": true, "c4": true, "c5": true, "c6": true}; !reflect.DeepEqual(tb.Askers(), want) {
		t.Errorf("askers are %v, want %v", tb.Askers(), want)
	}
	if want := addrs("10.1.0.1", "10.2.0.1", "fd01::1"); !slices.Equal(tb.Listens(), want) {
		t.Errorf("asked is at %v, want %v", tb.Listens(), want)
	}
}

// TestDoubtfulAsker: who cannot be told apart is not answered.
func TestDoubtfulAsker(t *testing.T) {
	other := names.Network{Name: "other", Listen: app.Listen, Endpoints: []names.Endpoint{
		endpoint("", "c9", "x", nil, "10.1.0.2"), endpoint("", "c8", "y", nil, "10.1.0.8")}}
	for _, tb := range []*names.Table{table(app, other), table(other, app), table(app, other, app)} {
		if a := tb.Asker(app.Listen[0], netip.MustParseAddr("10.1.0.2")); a != nil {
			t.Errorf("10.1.0.2 is %s, and is another one, too", a.Container)
		}
		if a := tb.Asker(app.Listen[0], netip.MustParseAddr("10.1.0.8")); a == nil || a.Container != "c8" {
			t.Errorf("10.1.0.8 is %+v", a)
		}
		if a := tb.Asker(app.Listen[1], netip.MustParseAddr("fd01::2")); a == nil || a.Container != "c1" {
			t.Errorf("fd01::2 is %+v", a)
		}
	}
}

func TestLookup(t *testing.T) {
	tb := table(app, back)
	both := tb.Asker(app.Listen[0], netip.MustParseAddr("10.1.0.2"))
	one := tb.Asker(back.Listen[0], netip.MustParseAddr("10.2.0.3"))
	for _, c := range []struct {
		asker *names.Asker
		name  string
		found bool
		want  []netip.Addr
	}{
		{both, "web", true, addrs("10.1.0.2", "10.2.0.2", "fd01::2")},
		{both, "WEB.app", true, addrs("10.1.0.2", "fd01::2")}, // the network's, not web.app's of the other one
		{both, "web.aPP.heddle.internal", true, addrs("10.1.0.2", "fd01::2")},
		{both, "web.app.back", true, addrs("10.2.0.3")},
		{both, "web.back.heddle.INTERNAL", true, addrs("10.2.0.2")},
		{both, "api", true, addrs("10.1.0.2", "10.1.0.3", "fd01::2")},
		{both, "db.app", true, addrs("10.1.0.3", "10.1.0.4")},
		{both, "store.shop", true, addrs("10.1.0.3")},
		{both, "store.shop.app", true, addrs("10.1.0.3")},
		{both, "-_9", true, addrs("10.1.0.6")},
		{both, "plain", true, nil},
		{both, "heddle.internal", true, nil},
		{both, "app.heddle.internal", true, nil},
		{both, "web.heddle.internal", false, nil},
		{both, "shop", false, nil},
		{both, "not a name", false, nil},
		{both, "a..b", false, nil},
		{both, "", false, nil},
		{both, ".", false, nil},
		{both, "internal", false, nil},
		{one, "web", true, addrs("10.2.0.2")},
		{one, "web.app", true, addrs("10.2.0.3")}, // it does not know the network
		{one, "db", false, nil},
		{one, "db.app.heddle.internal", false, nil},
		{one, "app.heddle.internal", false, nil},
		{one, "back.heddle.internal", true, nil},
	} {
		got, found := c.asker.Lookup(c.name)
		slices.SortFunc(got, netip.Addr.Compare)
		if found != c.found || !slices.Equal(got, c.want) {
			t.Errorf("%s asks for %q: %v, %v, want %v, %v", c.asker.Container, c.name, got, found, c.want, c.found)
		}
	}
}

// TestOwnAnswer: who gets an answer may change it.
func TestOwnAnswer(t *testing.T) {
	a := table(app).Asker(app.Listen[0], netip.MustParseAddr("10.1.0.2"))
	got, _ := a.Lookup("db")
	want := slices.Clone(got)
	clear(got)
	if again, _ := a.Lookup("db"); !slices.Equal(again, want) {
		t.Errorf("the answer was %v, and is %v", want, again)
	}
}

func TestReverse(t *testing.T) {
	tb := table(app, back)
	both := tb.Asker(app.Listen[0], netip.MustParseAddr("10.1.0.2"))
	one := tb.Asker(back.Listen[0], netip.MustParseAddr("10.2.0.3"))
	for _, c := range []struct {
		asker *names.Asker
		addr  string
		want  []string
	}{
		{both, "10.1.0.2", []string{"web.app.heddle.internal"}},
		{both, "fd01::2", []string{"web.app.heddle.internal"}},
		{both, "10.2.0.3", []string{"web.app.back.heddle.internal"}},
		{both, "10.1.0.5", nil}, {both, "10.1.0.6", nil}, {both, "10.9.0.1", nil},
		{one, "10.2.0.2", []string{"web.back.heddle.internal"}},
		{one, "10.1.0.2", nil},
	} {
		if got := c.asker.Names(netip.MustParseAddr(c.addr)); !slices.Equal(got, c.want) {
			t.Errorf("%s: the names of %s are %q, want %q", c.asker.Container, c.addr, got, c.want)
		}
	}
	for prefix, want := range map[string]bool{"10.1.0.0/16": true, "10.1.7.0/24": true, "10.0.0.0/8": false, "10.2.0.9/32": true,
		"10.2.1.0/24": false, "fd01::/64": true, "fd01::/60": false, "fd02::1/128": false} {
		if got := both.Holds(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("holds %s: %v", prefix, got)
		}
	}
	if one.Holds(netip.MustParsePrefix("10.1.0.2/32")) {
		t.Error("c6 holds a network that it is not on")
	}
}

// TestInside: a LAN's addresses are no secret of this host's.
func TestInside(t *testing.T) {
	lan := names.Network{Name: "lan", Listen: addrs("169.254.104.53"),
		Endpoints: []names.Endpoint{endpoint("", "c9", "web", nil, "192.0.2.6")}}
	tb := table(app, lan)
	for a, want := range map[string]bool{"10.1.2.3": true, "fd01::99": true, "10.2.0.1": false, "192.0.2.7": false,
		"169.254.104.53": true} {
		if got := tb.Inside(netip.MustParseAddr(a)); got != want {
			t.Errorf("inside %s: %v", a, got)
		}
	}
}

func TestClashes(t *testing.T) {
	n := app
	n.Endpoints = append(slices.Clone(app.Endpoints),
		endpoint("host2", "c2", "db", nil, "10.1.0.9"), // the second interface of one that clashes already
		endpoint("", "c1", "web", nil, "10.1.0.10"))    // of one and the same container
	var got []string
	for _, e := range names.List([]names.Network{n}, "host1") {
		if e.Clash {
			got = append(got, fmt.Sprint(e.Network, " ", e.Name, " ", e.Host, " ", e.Endpoint.Container))
		}
	}
	if want := []string{"App db host2 c2", "App db host2 c2", "App db host3 c3"}; !slices.Equal(got, want) {
		t.Errorf("clashes are %q, want %q", got, want)
	}
}
