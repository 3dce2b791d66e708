package aliyun

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/cloud"
)

// byPrefixes has an agent get addresses by prefixes.
func byPrefixes(s *eni.Settings) { s.Prefixes, s.Lag = true, 0 }

// TestBlocks: two calls give a NIC 16 sets, and one more the next 16. A prefix goes back as a whole. One that is not there is no error.
func TestBlocks(t *testing.T) {
	c, p, _ := newSharing(t, nil)
	a := p.again(t, byPrefixes)
	c.Set(cloud.Faults{Lag: 300 * time.Millisecond, Throttled: 2})
	card, err := a.Assign(t.Context(), "p-1", 1)
	if err != nil || card.Check("p-1", "lan") != nil || len(card.Further) != 16 || len(card.Prefixes) != 1 || card.Full || len(card.Further[0]) != 2 {
		t.Fatalf("%+v, %v", card, err)
	}
	all, err := a.Assign(t.Context(), "p-1", 33)
	if err != nil || len(all.Further) != 48 || len(all.Prefixes) != 3 || !all.Full || !slices.Equal(all.Further[0], card.Further[0]) || c.Calls("AssignIpv6Addresses") != 1 || len(c.Blocks("eni-local1")) != 4 {
		t.Errorf("%+v, %v; the cloud has %v", all, err, c.Blocks("eni-local1"))
	}
	time.Sleep(400 * time.Millisecond) // for the list
	if cards, err := p.again(t, byPrefixes).List(t.Context()); err != nil || !same(cards[0], all) {
		t.Errorf("another agent sees %+v, %v", cards, err)
	}
	for _, b := range all.Prefixes {
		cell.Must(t, a.UnassignPrefix(t.Context(), "p-1", b))
		cell.Must(t, a.UnassignPrefix(t.Context(), "p-1", b))
	}
	if left := c.Blocks("eni-local1"); len(left) != 1 || !left[0].Addr().Is6() {
		t.Errorf("left are %v", left)
	}
	if err := a.ecs.Unassign(t.Context(), "eni-local1", netip.MustParsePrefix("192.0.2.32/28")); err != nil {
		t.Errorf("one that is not there: %v", err)
	}
}

// TestBlocksNone: a vSwitch that has no free prefix gives addresses one by one. Where it has none of them either, that is told.
func TestBlocksNone(t *testing.T) {
	c, p, _ := newSharing(t, nil)
	c.Set(cloud.Faults{Crumbled: true})
	card, err := p.again(t, byPrefixes).Assign(t.Context(), "p-1", 3)
	if err != nil || len(card.Further) != 3 || len(card.Prefixes) > 0 || !card.Full || len(c.Further("eni-local1")) != 6 {
		t.Errorf("%+v, %v; the cloud has %v", card, err, c.Further("eni-local1"))
	}
	cell.Must(t, p.Unplug(t.Context(), "p-1"))
	c.Set(cloud.Faults{Refuse: map[string]string{"AssignPrivateIpAddresses": "InvalidVSwitchId.IpNotEnough"}})
	_, err = p.Plug(t.Context(), order("p-2"))
	cell.Must(t, err)
	if _, err := p.again(t, byPrefixes).Assign(t.Context(), "p-2", 1); heddle.PoolExhausted.In(err) == nil || c.Calls("AssignPrivateIpAddresses") != 4 {
		t.Errorf("%v, %d calls", err, c.Calls("AssignPrivateIpAddresses"))
	}
}
