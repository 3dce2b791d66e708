package aws

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	local "github.com/heddle-network/heddle/test/cloud"
)

// TestAssign: a NIC gets sets of further addresses, each an address of each family, of those that a subnet of EC2 can give, also by an agent that is started anew. They
// are taken off. The first addresses are in no set.
func TestAssign(t *testing.T) {
	c, p, open := newCloud(t, nil)
	_, err := p.Plug(t.Context(), order("p-1"))
	cell.Must(t, err)
	c.Set(local.Faults{Lag: 300 * time.Millisecond, Throttled: 2})
	if o, err := p.Describe(t.Context()); err != nil || o.Addresses != 3 {
		t.Errorf("%+v, %v", o, err)
	}
	first, err := p.Assign(t.Context(), "p-1", 1)
	cell.Must(t, err)
	card, err := p.Assign(t.Context(), "p-1", 3)
	cell.Must(t, err)
	if card.Check("p-1", "lan") != nil || len(card.Further) != 3 || len(card.Addrs) != 2 || !slices.Equal(card.Further[0], first.Further[0]) || len(c.Further("eni-local1")) != 6 {
		t.Errorf("%+v, before that %+v; the cloud has %v", card, first, c.Further("eni-local1"))
	}
	for _, set := range card.Further {
		if len(set) != 2 || !netip.MustParsePrefix("192.0.2.0/24").Contains(set[0].Addr()) || set[0].Bits() != 24 || !netip.MustParsePrefix("2001:db8::/64").Contains(set[1].Addr()) || set[1].Bits() != 64 {
			t.Errorf("%v", set)
		}
	}
	time.Sleep(400 * time.Millisecond) // for the list
	again, err := open(lags(0)).Assign(t.Context(), "p-1", 3)
	if err != nil || len(again.Further) != 3 || c.Calls("AssignPrivateIpAddresses") != 2 {
		t.Errorf("%+v, %v, %d calls", again, err, c.Calls("AssignPrivateIpAddresses"))
	}
	if _, err := p.Assign(t.Context(), "p-1", 4); heddle.TooMuch.In(err) == nil {
		t.Error(err)
	}
	for i, set := range card.Further {
		cell.Must(t, p.Unassign(t.Context(), "p-1", set[i%2].Addr()))
	}
	if left := c.Further("eni-local1"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	cell.Must(t, p.Unplug(t.Context(), "p-1"))
}

// TestAssignFaults: what the cloud refuses is told. Nobody gets half a set, and nothing is left of it.
func TestAssignFaults(t *testing.T) {
	for action, x := range map[string]struct {
		refused string
		code    heddle.Code
	}{
		"AssignPrivateIpAddresses": {"PrivateIpAddressLimitExceeded", heddle.NICNotGranted},
		"AssignIpv6Addresses":      {"UnauthorizedOperation", heddle.NICNotGranted},
	} {
		t.Run(action, func(t *testing.T) {
			c, p, _ := newCloud(t, nil)
			_, err := p.Plug(t.Context(), order("p-1"))
			cell.Must(t, err)
			c.Set(local.Faults{Refuse: map[string]string{action: x.refused}})
			if card, err := p.Assign(t.Context(), "p-1", 2); x.code.In(err) == nil || len(c.Further("eni-local1")) > 0 {
				t.Errorf("%+v, %v; the cloud has %v", card, err, c.Further("eni-local1"))
			}
		})
	}
}

// TestAssignLost: calls that change addresses have no client token. One whose answer is lost is not made again, by the same agent or another one, as long as the list may
// lack what it has done.
func TestAssignLost(t *testing.T) {
	for _, action := range []string{"AssignPrivateIpAddresses", "AssignIpv6Addresses"} {
		t.Run(action, func(t *testing.T) {
			c, p, open := newCloud(t, nil)
			_, err := p.Plug(t.Context(), order("p-1"))
			cell.Must(t, err)
			time.Sleep(1500 * time.Millisecond) // so the list has the NIC before it has the address
			c.Set(local.Faults{LostOf: action})
			if card, err := p.Assign(t.Context(), "p-1", 1); heddle.NICServiceDown.In(err) == nil || c.Calls(action) != 1 {
				t.Errorf("%+v, %v, %d calls", card, err, c.Calls(action))
			}
			c.Set(local.Faults{Lag: 1200 * time.Millisecond})
			card, err := open(lags(1500*time.Millisecond)).Assign(t.Context(), "p-1", 1)
			if err != nil || len(card.Further) != 1 || len(c.Further("eni-local1")) != 2 {
				t.Errorf("%+v, %v; the cloud has %v", card, err, c.Further("eni-local1"))
			}
		})
	}
}

// TestUnassignLost: after a call whose answer was lost the address is taken off by no second one, and is no container's, although the list has it.
func TestUnassignLost(t *testing.T) {
	c, _, open := newCloud(t, nil)
	p := open(lags(time.Second))
	_, err := p.Plug(t.Context(), order("p-1"))
	cell.Must(t, err)
	card, err := p.Assign(t.Context(), "p-1", 1)
	cell.Must(t, err)
	c.Set(local.Faults{LostOf: "UnassignIpv6Addresses"})
	a := card.Further[0][0].Addr()
	if err := p.Unassign(t.Context(), "p-1", a); heddle.NICServiceDown.In(err) == nil || c.Calls("UnassignIpv6Addresses") != 1 {
		t.Error(err)
	}
	c.Set(local.Faults{Lag: 800 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if card, err = p.Assign(ctx, "p-1", 1); err != nil || len(card.Further) != 1 || len(c.Further("eni-local1")) != 2 {
		t.Errorf("%+v, %v; the cloud has %v", card, err, c.Further("eni-local1"))
	}
}
