package program

import (
	"net/netip"
	"slices"
	"testing"
)

// TestRanges: ranges have the addresses that were given, and no other.
func TestRanges(t *testing.T) {
	var all []netip.Addr
	for a := netip.MustParseAddr("10.0.0.2"); a != netip.MustParseAddr("10.0.1.0"); a = a.Next() {
		all = append(all, a)
	}
	all = append(all, netip.MustParseAddr("10.0.1.7"), netip.MustParseAddr("fd00::1"), netip.MustParseAddr("10.0.0.9"))
	got, err := ranges(all)
	want := []string{"10.0.0.2/31", "10.0.0.4/30", "10.0.0.8/29", "10.0.0.16/28", "10.0.0.32/27", "10.0.0.64/26", "10.0.0.128/25", "10.0.1.7/32", "fd00::1/128"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}
