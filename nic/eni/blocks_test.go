package eni

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

const block32, six1 = "192.0.2.32/28", "2001:db8:0:0:1::/80"

// withBlocks is a NIC with prefixes besides.
func withBlocks(n NIC, texts ...string) NIC {
	n.Blocks = Blocks(texts)
	return n
}

// TestBlocksOf: each address of a prefix is one of a set, with an IPv6 address of the NIC's IPv6 prefix, in whichever order they are listed. What a subnet does not give is
// passed over.
func TestBlocksOf(t *testing.T) {
	now := time.Now()
	base := []string{"192.0.2.10", "2001:db8::a"}
	for name, x := range map[string]struct {
		addrs, blocks []string
		alone         bool
		lately        map[netip.Prefix]change
		whole         int
		first         string
		halves        int
	}{
		"a block":         {addrs: base, blocks: []string{block32, six1}, whole: 16, first: "192.0.2.32/24+2001:db8::1:6464:c000:220/64"},
		"other order":     {addrs: base, blocks: []string{six1, block32}, whole: 16, first: "192.0.2.32/24+2001:db8::1:6464:c000:220/64"},
		"no IPv6 prefix":  {addrs: base, blocks: []string{block32}, halves: 1},
		"IPv6 alone":      {addrs: base, blocks: []string{six1}},
		"IPv4 sets":       {addrs: base, blocks: []string{block32}, alone: true, whole: 16, first: "192.0.2.32/24"},
		"two, two":        {addrs: base, blocks: []string{"192.0.2.48/28", block32, "2001:db8:0:0:2::/80", six1}, whole: 32, first: "192.0.2.32/24+2001:db8::1:6464:c000:220/64"},
		"other lengths":   {addrs: base, blocks: []string{"192.0.2.32/27", "192.0.2.64/29", "192.0.2.33/28", "2001:db8::/64", "nonsense"}, alone: true, whole: 16, first: "192.0.2.32/24"},
		"outside":         {addrs: base, blocks: []string{"198.51.100.0/28", "2001:db9::/80"}, alone: true},
		"the subnet's":    {addrs: base, blocks: []string{"192.0.2.240/28"}, alone: true, whole: 13, first: "192.0.2.240/24"},
		"the first one":   {addrs: base, blocks: []string{"192.0.2.0/28"}, alone: true, whole: 14, first: "192.0.2.1/24"},
		"an address, too": {addrs: append(base, "192.0.2.33", "192.0.2.70"), blocks: []string{block32}, alone: true, whole: 17, first: "192.0.2.32/24"},
		"not listed yet":  {addrs: base, lately: map[netip.Prefix]change{prefixOf(block32): {true, now}, prefixOf(six1): {true, now}}, whole: 16, first: "192.0.2.32/24+2001:db8::1:6464:c000:220/64"},
		"listed still":    {addrs: base, blocks: []string{block32, six1}, lately: map[netip.Prefix]change{prefixOf(block32): {false, now}}},
	} {
		f := furtherOf(withBlocks(addressed(x.addrs...), x.blocks...), dual, !x.alone, x.lately, now)
		first := ""
		if len(f.whole) > 0 {
			var texts []string
			for _, p := range f.whole[0] {
				texts = append(texts, p.String())
			}
			first = strings.Join(texts, "+")
		}
		if len(f.whole) != x.whole || first != x.first || len(f.halves) != x.halves {
			t.Errorf("%s: %d sets, first %s, halves %v", name, len(f.whole), first, f.halves)
		}
		seen := map[netip.Addr]bool{}
		for _, p := range slices.Concat(f.whole...) {
			if seen[p.Addr()] {
				t.Errorf("%s: %v is there twice", name, p)
			}
			seen[p.Addr()] = true
		}
	}
}

// TestBlockRoom: a prefix takes the room of one address, and the IPv6 prefix that of one IPv6 address.
func TestBlockRoom(t *testing.T) {
	for _, x := range []struct {
		l             Limits
		addrs, blocks []string
		block, single bool
	}{
		{Limits{Fours: 3, Sixes: 3}, []string{"192.0.2.10", "2001:db8::a"}, nil, true, true},
		{Limits{Fours: 3, Sixes: 3}, []string{"192.0.2.10", "2001:db8::a"}, []string{block32, six1}, true, true},
		{Limits{Fours: 3, Sixes: 3}, []string{"192.0.2.10", "2001:db8::a", four20, six20}, []string{block32, six1}, false, false},
		{Limits{Fours: 4, Sixes: 2}, []string{"192.0.2.10", "2001:db8::a"}, []string{block32, six1}, true, false},
		{Limits{Fours: 4, Sixes: 2}, []string{"192.0.2.10", "2001:db8::a", four20, six20}, nil, false, false},
		{Limits{Fours: 1, Sixes: 9}, []string{"192.0.2.10", "2001:db8::a"}, nil, false, false},
	} {
		f := furtherOf(withBlocks(addressed(x.addrs...), x.blocks...), dual, true, nil, time.Now())
		if b, s := f.roomForBlock(x.l, true), f.roomForSingle(x.l, true); b != x.block || s != x.single {
			t.Errorf("%+v: room for a prefix %v, for an address %v", x, b, s)
		}
	}
	small := Limits{Fours: 2, Sixes: 2}
	half := furtherOf(withBlocks(addressed("192.0.2.10", "2001:db8::a"), block32), dual, true, nil, time.Now())
	if !half.hasRoom(small, true, false, false) || half.hasRoom(small, true, true, true) {
		t.Error("a prefix without its IPv6 prefix is room as long as the cloud may give that, and no longer")
	}
	one := furtherOf(withBlocks(addressed("192.0.2.10", "2001:db8::a"), block32, six1), dual, true, nil, time.Now())
	if l := (Limits{Fours: 4, Sixes: 2}); !one.hasRoom(l, true, true, false) || one.hasRoom(l, true, true, true) || one.hasRoom(l, true, false, false) {
		t.Error("there is room for a prefix alone, as long as the subnet may have one")
	}
	p := New(nil, Settings{Prefixes: true})
	for fours, want := range map[int]int{0: 0, 1: 0, 2: 16, 10: 144, 15: 224, 16: 240, 30: 240, 300: heddle.MaxFurther} {
		if got := p.setsEach(Limits{Fours: fours}); got != want {
			t.Errorf("%d addresses: %d sets, want %d", fours, got, want)
		}
	}
	if got := p.setsEach(Limits{Fours: 10, NoPrefixes: "it is old"}); got != 9 {
		t.Errorf("without prefixes: %d", got)
	}
}
