package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

const (
	sandbox = "4f5c1d6a9b0e" + "00000000000000000000000000000000000000000000000000aa"
	other   = "4f5c1d6a9b0f" + "00000000000000000000000000000000000000000000000000bb"
)

// endpointsKnown are endpoints of people, of a pod with two interfaces, and of Docker.
var endpointsKnown = []heddle.Endpoint{
	{ID: heddle.EndpointID{Container: "web2", IfName: "eth0"}},
	{ID: heddle.EndpointID{Container: "resolver", IfName: "net0"}, Name: "dns"},
	{ID: heddle.EndpointID{Container: "beefed-up", IfName: "eth1"}, Name: "beef"},
	{ID: heddle.EndpointID{Container: sandbox, IfName: "eth0"}, Name: "shop-1.default", Labels: map[string]string{heddle.LabelPod: "shop-1", heddle.LabelPodNamespace: "default"}},
	{ID: heddle.EndpointID{Container: sandbox, IfName: "net1"}, Name: "shop-1.default", Labels: map[string]string{heddle.LabelPod: "shop-1", heddle.LabelPodNamespace: "default"}},
	{ID: heddle.EndpointID{Container: other, IfName: "eth"}, Name: "db", Inside: "eth0"},
}

func TestPickEndpoint(t *testing.T) {
	for _, c := range []struct{ word, show, change string }{
		{"", "", ""},
		{"web", "web2/eth0", ""}, // detached twice, web does not take web2 along
		{"resolver", "resolver/net0", ""},
		{"res", "resolver/net0", ""},
		{"dns", "resolver/net0", "resolver/net0"},
		{"DNS", "resolver/net0", "resolver/net0"},
		{"dn", "resolver/net0", ""},
		{"beef", "beefed-up/eth1", "beefed-up/eth1"}, // a name comes before a beginning
		{"4f5c1d6a9b0", "4f5c1d6a9b0e/eth0 4f5c1d6a9b0e/net1 4f5c1d6a9b0f/eth", ""},
		{"4f5c1d6a9b0e", "4f5c1d6a9b0e/eth0 4f5c1d6a9b0e/net1", "4f5c1d6a9b0e/eth0"},
		{"4f5c1d6a9b0e/net1", "4f5c1d6a9b0e/net1", "4f5c1d6a9b0e/net1"},
		{"4f5c1d6a9b0e/net9", "", ""},
		{"4f5c1d6a9b0f", "4f5c1d6a9b0f/eth", "4f5c1d6a9b0f/eth"},
		{"4f5c1d6a9b0f/eth", "4f5c1d6a9b0f/eth", "4f5c1d6a9b0f/eth"},
		{"4f5c1d6a9b0f/eth0", "4f5c1d6a9b0f/eth", "4f5c1d6a9b0f/eth"}, // as it is called inside
		{other, "4f5c1d6a9b0f/eth", "4f5c1d6a9b0f/eth"},
		{"shop-1", "4f5c1d6a9b0e/eth0 4f5c1d6a9b0e/net1", "4f5c1d6a9b0e/eth0 4f5c1d6a9b0e/net1"},
		{"shop-1.default/net1", "4f5c1d6a9b0e/net1", "4f5c1d6a9b0e/net1"},
		{"default/shop-1/net1", "4f5c1d6a9b0e/net1", "4f5c1d6a9b0e/net1"},
		{"default/shop-1", "4f5c1d6a9b0e/eth0 4f5c1d6a9b0e/net1", "4f5c1d6a9b0e/eth0 4f5c1d6a9b0e/net1"},
		{"other/shop-1", "", ""},
	} {
		for to, want := range map[purpose]string{toShow: c.show, toChange: c.change} {
			var got []string
			for _, e := range pickEndpoints(endpointsKnown, c.word, to) {
				got = append(got, e.ID.Short())
			}
			if !slices.Equal(got, strings.Fields(want)) {
				t.Errorf("%q to change %t: %v, want %s", c.word, to, got, want)
			}
		}
	}
}

func TestPickNetwork(t *testing.T) {
	all := []heddle.Network{front, back, {ID: "0123456789aaaaaa", Name: "0123456789abcd"}}
	for _, c := range []struct{ word, show, change string }{
		{"fro", "front", ""},
		{"fedc", "back", ""},
		{"fedcba987654", "back", "back"},
		{"fedcba987655", "", ""},
		{"01234567", "front 0123456789abcd", ""},
		{"0123456789ab", "front 0123456789abcd", "front"}, // nobody's name takes the place of an id
		{"", "", ""},
	} {
		for to, want := range map[purpose]string{toShow: c.show, toChange: c.change} {
			var got []string
			for _, n := range pickNetworks(all, c.word, to) {
				got = append(got, n.Name)
			}
			if !slices.Equal(got, strings.Fields(want)) {
				t.Errorf("%q to change %t: %v, want %s", c.word, to, got, want)
			}
		}
	}
}

// TestEndpointWord: what cannot name an endpoint is refused before anybody is asked.
func TestEndpointWord(t *testing.T) {
	for word, want := range map[string]bool{"web": true, "web/eth0": true, "default/shop-1": true, "default/shop-1/eth0": true, "a/b/c/d": false,
		"": false, "..": false, "../x": false, "a/../b": false, "a b": false, "a/b/": false, "x\n": false, "a/b/\x1b[2J": false, strings.Repeat("x", 300): false} {
		if got := endpointWord.MatchString(word); got != want {
			t.Errorf("%q: %t", word, got)
		}
	}
}

func TestAmbiguous(t *testing.T) {
	err := ambiguous("find endpoint", "x", shortIDs(slices.Repeat(endpointsKnown[3:4], 10)))
	want := "it fits 10: " + strings.Repeat("4f5c1d6a9b0e/eth0 (shop-1.default), ", 7) + "4f5c1d6a9b0e/eth0 (shop-1.default) and 2 more"
	if got := heddle.CauseOf(err); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestBriefTables: a table is within 80 columns where names and ids are as long as they may be.
func TestBriefTables(t *testing.T) {
	long := endpointsKnown[3]
	long.Name, long.NetworkName = strings.Repeat("n", 253), "front"
	s, out := screen(t)
	if err := s.endpointTable(s.stdout, []heddle.Endpoint{long}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len([]rune(line)) > 81 || strings.Count(out.String(), "\n") > 2 {
			t.Errorf("too wide, or folded:\n%s", out)
		}
	}
	out.Reset()
	s.format = formatWide
	if err := s.endpointTable(s.stdout, []heddle.Endpoint{long}); err != nil || !strings.Contains(out.String(), long.Name) || !strings.Contains(out.String(), sandbox) {
		t.Errorf("%v: not all is shown:\n%s", err, out)
	}
}
