package ipam_test

import (
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// TestSources: a network's source gives addresses if the network has subnets, and what is
// asked of one that gives none changes nothing.
func TestSources(t *testing.T) {
	for subnets, gives := range map[string]bool{"": false, "10.0.0.0/24": true, "10.0.0.0/24,fd20::/64": true} {
		n := checked(t, subnets)
		s := ipam.For(n)
		got, err := s.Take(id("a"), nil)
		if err != nil || s.Gives() != gives || len(got) != len(n.Subnets) || len(s.Stats()) != len(n.Subnets) {
			t.Errorf("%q: %v, %v, gives %v", subnets, got, err, s.Gives())
		}
		if _, blocks := s.(ipam.Blocks); blocks != gives {
			t.Errorf("%q: gives out of blocks: %v", subnets, blocks)
		}
	}
	s := ipam.For(heddle.Network{})
	kept := netip.MustParsePrefix("10.0.0.9/24")
	if err := s.Restore(id("a"), []netip.Prefix{kept}); err != nil {
		t.Error(err)
	}
	if _, held := s.Holder(kept.Addr()); held || len(s.Held()) > 0 || len(s.Give(id("a"))) > 0 || len(s.Cursor()) > 0 {
		t.Error("a source that gives nothing has a lease")
	}
	if _, err := s.TakeOne(kept.Masked(), kept.Addr(), nil); err == nil {
		t.Error("an address is leased of no subnet")
	}
}
