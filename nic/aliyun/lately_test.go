package aliyun

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/cloud"
)

// TestAssignLost: what a call has done whose answer is lost is not done again, by the same agent or another one, although the list lacks it.
func TestAssignLost(t *testing.T) {
	for _, action := range []string{"AssignPrivateIpAddresses", "AssignIpv6Addresses"} {
		t.Run(action, func(t *testing.T) {
			c, p, _ := newSharing(t, nil)
			_, err := p.Assign(t.Context(), "p-1", 0) // it knows the vSwitch, and what it may
			cell.Must(t, err)
			time.Sleep(1500 * time.Millisecond) // so the list has the NIC before it has the address
			ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
			defer cancel()
			c.Set(cloud.Faults{LostOf: action})
			if card, err := p.Assign(ctx, "p-1", 1); err == nil {
				t.Errorf("%+v", card)
			}
			c.Set(cloud.Faults{Lag: 2500 * time.Millisecond})
			card, err := p.again(t, lags(2700*time.Millisecond)).Assign(t.Context(), "p-1", 1)
			if err != nil || len(card.Further) != 1 || len(fours(c, "eni-local1")) != 1 || len(sixes(c, "eni-local1")) != 1 {
				t.Errorf("%+v, %v; the cloud has %v", card, err, c.Further("eni-local1"))
			}
		})
	}
}

// TestUnassignLost: after a call whose answer was lost, what it has taken off is given to nobody, although the list, and what this agent has done lately, have
// it.
func TestUnassignLost(t *testing.T) {
	for _, action := range []string{"UnassignPrivateIpAddresses", "UnassignIpv6Addresses"} {
		t.Run(action, func(t *testing.T) {
			c, p, _ := newSharing(t, nil)
			p = p.again(t, lags(1700*time.Millisecond))
			card, err := p.Assign(t.Context(), "p-1", 2)
			cell.Must(t, err)
			time.Sleep(2 * time.Second) // so the list has them
			loseAnswer(t, c, action, func(ctx context.Context) error { return p.Unassign(ctx, "p-1", card.Further[0][0].Addr()) })
			c.Set(cloud.Faults{Lag: 1500 * time.Millisecond})
			if card, err = p.Assign(t.Context(), "p-1", 2); err != nil || len(card.Further) != 2 {
				t.Errorf("%+v, %v", card, err)
			}
			for _, set := range card.Further {
				for _, x := range set {
					if !slices.Contains(c.Further("eni-local1"), x.Addr()) {
						t.Errorf("%v is given, and the cloud has %v", x, c.Further("eni-local1"))
					}
				}
			}
		})
	}
}

// TestAssignAgainLost: the cloud gives an address again that was taken off before, and the answer is lost. It is found.
func TestAssignAgainLost(t *testing.T) {
	for _, action := range []string{"AssignPrivateIpAddresses", "AssignIpv6Addresses"} {
		t.Run(action, func(t *testing.T) {
			c, _, open := newSharing(t, nil)
			p := open()
			first, err := p.Assign(t.Context(), "p-1", 1)
			cell.Must(t, err)
			cell.Must(t, p.Unassign(t.Context(), "p-1", first.Further[0][0].Addr()))
			loseAnswer(t, c, action, func(ctx context.Context) error {
				_, err := p.Assign(ctx, "p-1", 1)
				return err
			})
			if card, err := p.Assign(t.Context(), "p-1", 1); err != nil || !same(card, first) || len(c.Further("eni-local1")) != 2 {
				t.Errorf("%+v, %v; the cloud has %v", card, err, c.Further("eni-local1"))
			}
		})
	}
}

// loseAnswer has answers of an action be lost while do is done, which fails.
func loseAnswer(t *testing.T, c *cloud.Cloud, action string, do func(context.Context) error) {
	t.Helper()
	c.Set(cloud.Faults{LostOf: action})
	defer c.Set(cloud.Faults{})
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	if do(ctx) == nil {
		t.Errorf("an answer of %s is lost, and nobody notices", action)
	}
}

// TestForeignHalf: an IPv4 address without its IPv6 address may be a container's, from a time when sets were of IPv4 alone. It is not taken off if the cloud
// refuses the IPv6 address.
func TestForeignHalf(t *testing.T) {
	c, p, open := newSharing(t, nil)
	loseAnswer(t, c, "AssignPrivateIpAddresses", func(ctx context.Context) error {
		_, err := p.Assign(ctx, "p-1", 1)
		return err
	})
	half := c.Further("eni-local1")
	for _, code := range []string{"Forbidden.RAM", "InvalidIp.IpAssigned", "InvalidOperation.Ipv6CountExceeded"} {
		c.Set(cloud.Faults{Refuse: map[string]string{"AssignIpv6Addresses": code}})
		if card, err := open().Assign(t.Context(), "p-1", 1); err == nil || len(half) != 1 || !slices.Equal(c.Further("eni-local1"), half) {
			t.Errorf("%s: %+v, %v; the cloud had %v, and has %v", code, card, err, half, c.Further("eni-local1"))
		}
	}
	c.Set(cloud.Faults{})
	if card, err := open().Assign(t.Context(), "p-1", 1); err != nil || len(card.Further) != 1 || card.Further[0][0].Addr() != half[0] {
		t.Errorf("%+v, %v", card, err)
	}
}

// TestUndoFails: an IPv4 address that is given back stays as long as its IPv6 address may be there.
func TestUndoFails(t *testing.T) {
	c, p, _ := newSharing(t, nil)
	c.Set(cloud.Faults{Refuse: map[string]string{"AssignIpv6Addresses": "InvalidIp.IpAssigned", "UnassignIpv6Addresses": "Forbidden.RAM"}})
	if card, err := p.Assign(t.Context(), "p-1", 1); heddle.AddressTaken.In(err) == nil || len(fours(c, "eni-local1")) != 1 {
		t.Errorf("%+v, %v; the cloud has %v", card, err, c.Further("eni-local1"))
	}
}
