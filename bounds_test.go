package heddle

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestBounded: what is named again is left out, what is too much is refused, and what
// users have passes as it is.
func TestBounded(t *testing.T) {
	many := func(n int) (ids []string, addrs []netip.Addr, texts map[string]string) {
		a, texts := netip.MustParseAddr("fd00::1"), map[string]string{}
		for i := range n {
			ids, addrs, texts[fmt.Sprint("key", i)] = append(ids, fmt.Sprintf("%016x", i)), append(addrs, a), "value"
			a = a.Next()
		}
		return ids, addrs, texts
	}
	for _, c := range []struct {
		name   string
		change func(n *Network)
		fits   bool
	}{
		{"nothing much", func(*Network) {}, true},
		{"one permission 50,000 times", func(n *Network) { n.Allow = slices.Repeat([]string{"00000000000000ab"}, 50_000) }, true},
		{"permissions", func(n *Network) { n.Allow, _, _ = many(MaxAllow) }, true},
		{"too many permissions", func(n *Network) { n.Allow, _, _ = many(MaxAllow + 1) }, false},
		{"a permission for no id", func(n *Network) { n.Allow = []string{"*"} }, false},
		{"reserved addresses", func(n *Network) { _, n.Reserved, _ = many(MaxReserved) }, true},
		{"too many of them", func(n *Network) { _, n.Reserved, _ = many(MaxReserved + 1) }, false},
		{"options", func(n *Network) { _, _, n.Options = many(MaxOptions + 1) }, false},
		{"labels", func(n *Network) { _, _, l := many(MaxOptions); n.Docker = &DockerNetwork{Labels: l} }, true},
		{"too many labels", func(n *Network) { _, _, l := many(MaxOptions + 1); n.Docker = &DockerNetwork{Labels: l} }, false},
		{"a huge label", func(n *Network) {
			n.Docker = &DockerNetwork{Labels: map[string]string{"a": strings.Repeat("x", MaxText+1)}}
		}, false},
		{"labels that are too long together", func(n *Network) {
			_, _, l := many(MaxOptions)
			for key := range maps.Keys(l) {
				l[key] = strings.Repeat("x", MaxRecord/MaxOptions)
			}
			n.Docker = &DockerNetwork{Labels: l}
		}, false},
		{"ranges", func(n *Network) {
			for i := range MaxRanges + 1 {
				n.Ranges = append(n.Ranges, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 32))
			}
		}, false},
		{"subnets", func(n *Network) { n.Subnets = make([]netip.Prefix, 3) }, false},
	} {
		n := Network{ID: "00000000000000aa", Name: "n", Mode: "overlay"}
		c.change(&n)
		got, err := Bounded(n)
		if (err == nil) != c.fits || err != nil && !errors.Is(err, TooMuch.Sentinel()) {
			t.Errorf("%s: %v", c.name, err)
		}
		again, err := Bounded(got)
		if c.fits && (err != nil || !reflect.DeepEqual(again, got)) {
			t.Errorf("%s: bounded again, %v", c.name, err)
		}
	}
}
