package eni

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

var dual = Subnet{V4: netip.MustParsePrefix("192.0.2.0/24"), V6: netip.MustParsePrefix("2001:db8::/64"), First: netip.MustParseAddr("192.0.2.1"), Last: netip.MustParseAddr("192.0.2.252")}

// addressed is a NIC with these addresses. The first IPv4 address is its first one.
func addressed(texts ...string) (n NIC) {
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil:
		case a.Is6():
			n.Sixes = append(n.Sixes, a)
		case !n.First.IsValid():
			n.First = a
		default:
			n.Fours = append(n.Fours, a)
		}
	}
	return n
}

// prefixOf is an address, or a prefix, as it is noted.
func prefixOf(text string) netip.Prefix {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p
	}
	return single(netip.MustParseAddr(text))
}

const (
	four20, six20 = "192.0.2.20", "2001:db8::6865:6464:c000:214"
	four21, six21 = "192.0.2.21", "2001:db8::6865:6464:c000:215"
)

// TestFurtherOf: sets are made of what is listed, in whichever order; of strange lists as well. What changed lately counts before the list.
func TestFurtherOf(t *testing.T) {
	now := time.Now()
	late := func(there bool, ago time.Duration, texts ...string) map[netip.Prefix]change {
		all := map[netip.Prefix]change{}
		for _, text := range texts {
			all[prefixOf(text)] = change{there, now.Add(-ago)}
		}
		return all
	}
	for name, x := range map[string]struct {
		addrs       []string
		alone       bool // sets have IPv4 only
		lately      map[netip.Prefix]change
		whole, half string
	}{
		"none":                  {addrs: []string{"192.0.2.10", "2001:db8::a"}},
		"a set":                 {addrs: []string{"192.0.2.10", four20, six20, "2001:db8::a"}, whole: four20 + "/24+" + six20 + "/64"},
		"half a set":            {addrs: []string{"192.0.2.10", four20, "2001:db8::a"}, half: four20},
		"no IPv6":               {addrs: []string{"192.0.2.10", four20, "2001:db8::a"}, alone: true, whole: four20 + "/24"},
		"IPv6 alone":            {addrs: []string{"192.0.2.10", six20, "2001:db8::a"}},
		"no first IPv6":         {addrs: []string{"192.0.2.10", four20, six20}, whole: four20 + "/24+" + six20 + "/64"},
		"another's IPv6":        {addrs: []string{"192.0.2.10", four20, six21, "2001:db8::a"}, half: four20},
		"twice":                 {addrs: []string{"192.0.2.10", four20, four20, six20, six20}, whole: four20 + "/24+" + six20 + "/64"},
		"outside":               {addrs: []string{"192.0.2.10", "198.51.100.7", "0.0.0.0", "127.0.0.1", "224.0.0.1", "nonsense"}, alone: true},
		"the system's":          {addrs: []string{"192.0.2.10", "192.0.2.0", "192.0.2.253", "192.0.2.254", "192.0.2.255"}, alone: true},
		"the first one":         {addrs: []string{"192.0.2.10", "192.0.2.10"}, alone: true},
		"not listed yet":        {addrs: []string{"192.0.2.10"}, lately: late(true, 9*time.Second, four20, six20), whole: four20 + "/24+" + six20 + "/64"},
		"listed still":          {addrs: []string{"192.0.2.10", four20, six20}, lately: late(false, 9*time.Second, four20, six20)},
		"listed, but half gone": {addrs: []string{"192.0.2.10", four20, six20}, lately: late(false, 9*time.Second, six20), half: four20},
		"long ago":              {addrs: []string{"192.0.2.10", four20, six20}, lately: late(false, time.Minute, four20, six20), whole: four20 + "/24+" + six20 + "/64"},
		"two":                   {addrs: []string{"192.0.2.10", four21, four20, "2001:db8::a", six20, six21}, whole: four20 + "/24+" + six20 + "/64 " + four21 + "/24+" + six21 + "/64"},
	} {
		f := furtherOf(addressed(x.addrs...), dual, !x.alone, x.lately, now)
		var whole, half []string
		for _, set := range f.whole {
			var texts []string
			for _, p := range set {
				texts = append(texts, p.String())
			}
			whole = append(whole, strings.Join(texts, "+"))
		}
		for _, a := range f.half {
			half = append(half, a.String())
		}
		if strings.Join(whole, " ") != x.whole || strings.Join(half, " ") != x.half {
			t.Errorf("%s: %v, half are %v", name, whole, half)
		}
	}
}

// TestThousands: a NIC that is listed with thousands of addresses has as many as a NIC can have, and none twice.
func TestThousands(t *testing.T) {
	wide := Subnet{V4: netip.MustParsePrefix("10.0.0.0/16"), First: netip.MustParseAddr("10.0.0.1"), Last: netip.MustParseAddr("10.0.255.252")}
	texts := []string{"10.0.0.5"}
	for i := range 20000 {
		texts = append(texts, fmt.Sprintf("10.0.%d.%d", i/200, i%200))
	}
	n := addressed(texts...)
	f := furtherOf(n, wide, false, nil, time.Now())
	c := nic.Card{Token: "p-1", Network: "lan", MAC: "00:16:3e:00:00:01", MTU: 1500, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.5/16")}, Further: f.whole}
	if err := c.Check("p-1", "lan"); err != nil || len(f.whole) != heddle.MaxFurther {
		t.Errorf("%d sets, %v", len(f.whole), err)
	}
}

// TestFirst: the first addresses of a NIC are those that no set has, whatever is listed first.
func TestFirst(t *testing.T) {
	for _, x := range []struct {
		want  string
		texts []string
	}{
		{"[192.0.2.10 2001:db8::a]", []string{"192.0.2.10", four20, six20, "2001:db8::a"}},
		{"[192.0.2.10]", []string{"192.0.2.10", four20, six20}},
		{"[192.0.2.10 " + six20 + "]", []string{"192.0.2.10", six20}}, // somebody asked for it
		{"[192.0.2.10 2001:db8::b]", []string{"192.0.2.10", "2001:db8::b", "2001:db8::a"}},
		{"[192.0.2.10 2001:db8::b]", []string{"192.0.2.10", six21, "2001:db8::b"}},
	} {
		if got := fmt.Sprint(addressed(x.texts...).addrs()); got != x.want {
			t.Errorf("%v has %s first, want %s", x.texts, got, x.want)
		}
	}
}

// TestQuota: how many sets a NIC may have.
func TestQuota(t *testing.T) {
	v4 := Subnet{V4: dual.V4}
	for _, x := range []struct {
		four, six    int
		sets         int
		paired, onV4 bool
	}{{10, 10, 9, true, false}, {10, 1, 9, false, false}, {10, 0, 9, false, false}, {30, 10, 9, true, false}, {1, 1, 0, false, false}, {0, 0, 0, false, false}, {-1, -1, 0, false, false},
		{5000, 5000, heddle.MaxFurther, true, false}} {
		k := Limits{Fours: x.four, Sixes: x.six}
		if k.sets() != x.sets || k.paired(dual) != x.paired || k.paired(v4) != x.onV4 {
			t.Errorf("%+v: %d, %v, %v", k, k.sets(), k.paired(dual), k.paired(v4))
		}
	}
	if long := (Subnet{V4: dual.V4, V6: netip.MustParsePrefix("2001:db8::/80")}); (Limits{Fours: 9, Sixes: 9}).paired(long) {
		t.Error("there is no room for the address that goes with another")
	}
}

// TestPartner: an IPv6 address goes with one IPv4 address, and tells which.
func TestPartner(t *testing.T) {
	a := netip.MustParseAddr(four20)
	six := dual.partner(a)
	if six.String() != six20 || origin(six) != a || !dual.V6.Contains(six) || origin(netip.MustParseAddr("2001:db8::a")).IsValid() || origin(a).IsValid() {
		t.Errorf("%v, %v", six, origin(six))
	}
	if all := addressed("192.0.2.10", four20).Fours; !slices.Equal(all, []netip.Addr{a}) {
		t.Error(all)
	}
}
