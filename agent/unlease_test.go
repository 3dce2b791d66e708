package agent

import (
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
)

// TestReturned: addresses are leased again in the order in which they were given back, unless that
// was long ago or somebody has them.
func TestReturned(t *testing.T) {
	p := newPool(netip.MustParsePrefix("10.9.0.0/24"), netip.Prefix{})
	at := func(i byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 9, 0, i}) }
	n := &network{Network: heddle.Network{Name: "net", Subnets: []netip.Prefix{p.Subnet},
		Gateways: []netip.Addr{at(1)}}}
	n.pool = ipam.NewPool(n.Network)
	if _, err := n.pool.TakeOne(p.Subnet, at(7), leaseID); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	a := &reservations{blocks: &blocks{host: &hostView{}},
		returned: map[string][]returnedAddr{p.ID: {{at(9), now.Add(-reuseTime)}, {at(8), now}, {at(7), now},
			{at(3), now}}}}
	for _, want := range []netip.Addr{at(8), at(3)} {
		if got, ok := a.takeReturned(n, p); !ok || got.Addr() != want || got.Bits() != 24 {
			t.Errorf("got %s, %v, not %s", got, ok, want)
		}
	}
	if got, ok := a.takeReturned(n, p); ok || len(a.returned) > 0 {
		t.Errorf("got %s, and %v is left", got, a.returned)
	}
}
