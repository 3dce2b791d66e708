package aws

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/eni"
	"github.com/heddle-network/heddle/test/cell"
	local "github.com/heddle-network/heddle/test/cloud"
	"github.com/heddle-network/heddle/test/soak"
)

// byPrefixes has an agent get addresses by prefixes, and believe that the list is behind for no longer than that.
func byPrefixes(lag time.Duration) func(*eni.Settings) {
	return func(s *eni.Settings) { s.Prefixes, s.Lag = true, lag }
}

// newBlocks is newCloud with a NIC that gets addresses by prefixes: three at most, besides its first addresses.
func newBlocks(t *testing.T, change func(*local.Options)) (c *local.Cloud, p *eni.Provider, open func(func(*eni.Settings)) *eni.Provider) {
	t.Helper()
	c, _, open = newCloud(t, func(o *local.Options) {
		if change != nil {
			change(o)
		}
	})
	p = open(byPrefixes(0))
	_, err := p.Plug(t.Context(), order("p-1"))
	cell.Must(t, err)
	return c, p, open
}

// has returns whether a card has whole prefixes, and sets as they are: so many of both, each set in a prefix.
func has(c nic.Card, prefixes, sets int) bool {
	return c.Check("p-1", "lan") == nil && len(c.Prefixes) == prefixes && len(c.Further) == sets && !slices.ContainsFunc(c.Further, func(s []netip.Prefix) bool {
		return len(s) != 2 || !slices.ContainsFunc(c.Prefixes, func(p netip.Prefix) bool { return p.Contains(s[0].Addr()) }) || !netip.MustParsePrefix("2001:db8::/64").Contains(s[1].Addr())
	})
}

// TestBlocks: one call gives a NIC 16 sets, and one more its IPv6 prefix. Each prefix counts as an address. One goes back as a whole, and by no single address of it; the
// IPv6 addresses that the others have stay as they are.
func TestBlocks(t *testing.T) {
	c, p, open := newBlocks(t, nil)
	c.Set(local.Faults{Lag: 300 * time.Millisecond, Throttled: 2})
	if o, err := p.Describe(t.Context()); err != nil || o.Addresses != 48 {
		t.Errorf("%+v, %v", o, err)
	}
	first, err := p.Assign(t.Context(), "p-1", 1)
	if err != nil || !has(first, 1, 16) || first.Full {
		t.Fatalf("%+v, %v", first, err)
	}
	card, err := p.Assign(t.Context(), "p-1", 48)
	if err != nil || !has(card, 3, 48) || !card.Full || !slices.Equal(card.Further[0], first.Further[0]) || c.Calls("AssignPrivateIpAddresses") != 2 || c.Calls("AssignIpv6Addresses") != 1 || len(c.Blocks("eni-local1")) != 4 {
		t.Fatalf("%+v, %v; the cloud has %v", card, err, c.Blocks("eni-local1"))
	}
	if _, err := p.Assign(t.Context(), "p-1", 49); heddle.TooMuch.In(err) == nil {
		t.Error(err)
	}
	time.Sleep(400 * time.Millisecond) // for the list
	again, err := open(byPrefixes(0)).Assign(t.Context(), "p-1", 48)
	if err != nil || !has(again, 3, 48) || c.Calls("AssignPrivateIpAddresses") != 2 {
		t.Errorf("%+v, %v, %d calls", again, err, c.Calls("AssignPrivateIpAddresses"))
	}
	for _, a := range again.Further[0] {
		if err := p.Unassign(t.Context(), "p-1", a.Addr()); heddle.BadArgument.In(err) == nil || len(c.Blocks("eni-local1")) != 4 {
			t.Errorf("%v is taken off alone: %v", a, err)
		}
	}
	cell.Must(t, p.UnassignPrefix(t.Context(), "p-1", card.Prefixes[1]))
	cell.Must(t, p.UnassignPrefix(t.Context(), "p-1", card.Prefixes[1])) // it does nothing
	all, err := p.List(t.Context())
	if err != nil || !has(all[0], 2, 32) || all[0].Full || len(c.Blocks("eni-local1")) != 3 || !slices.Equal(all[0].Further[0], first.Further[0]) || slices.Contains(all[0].Prefixes, card.Prefixes[1]) {
		t.Errorf("%+v, %v; the cloud has %v", all, err, c.Blocks("eni-local1"))
	}
	cell.Must(t, p.Unplug(t.Context(), "p-1"))
	if len(c.IDs()) > 0 {
		t.Error("left is a NIC")
	}
}

// TestBlocksNone: a subnet that has no free prefix gives addresses one by one, and is not asked for a prefix again for some time. They take the same room.
func TestBlocksNone(t *testing.T) {
	for name, x := range map[string]struct {
		faults local.Faults
		change func(*local.Options)
	}{
		"no 16 in a row": {faults: local.Faults{Crumbled: true}},
		"no 16": {change: func(o *local.Options) {
			v := o.VSwitches["subnet-1"]
			v.Free = 16
			o.VSwitches["subnet-1"] = v
		}},
		"no IPv6 prefix": {faults: local.Faults{Refuse: map[string]string{"AssignIpv6Addresses": "InvalidParameterValue"}}, change: func(o *local.Options) { o.IPv6s = 4 }},
	} {
		t.Run(name, func(t *testing.T) {
			c, p, open := newBlocks(t, x.change)
			c.Set(x.faults)
			if x.faults.Refuse != nil { // the IPv6 addresses that go with single ones are refused as well
				if card, err := p.Assign(t.Context(), "p-1", 1); err == nil || len(c.Blocks("eni-local1"))+len(c.Further("eni-local1")) > 0 || c.Calls("AssignIpv6Addresses") != 2 {
					t.Errorf("%+v, %v; the cloud has %v, %v", card, err, c.Blocks("eni-local1"), c.Further("eni-local1"))
				}
				return
			}
			card, err := p.Assign(t.Context(), "p-1", 1)
			if err != nil || len(card.Further) != 1 || len(card.Prefixes) != 0 || len(c.Further("eni-local1")) != 2 {
				t.Fatalf("%+v, %v; the cloud has %v", card, err, c.Further("eni-local1"))
			}
			c.Set(local.Faults{})
			card, err = p.Assign(t.Context(), "p-1", 3)
			if err != nil || len(card.Further) != 3 || !card.Full || c.Calls("AssignPrivateIpAddresses") != 3 {
				t.Errorf("%+v, %v, %d calls", card, err, c.Calls("AssignPrivateIpAddresses"))
			}
			if _, err := p.Assign(t.Context(), "p-1", 4); heddle.TooMuch.In(err) == nil || c.Calls("AssignPrivateIpAddresses") != 3 {
				t.Errorf("the NIC is full: %v", err)
			}
			if x.change == nil { // a prefix comes to the addresses that are there
				cell.Must(t, p.Unassign(t.Context(), "p-1", card.Further[0][0].Addr()))
				card, err = open(byPrefixes(0)).Assign(t.Context(), "p-1", 3)
				if err != nil || len(card.Further) != 18 || len(card.Prefixes) != 1 {
					t.Errorf("%+v, %v", card, err)
				}
			}
		})
	}
}

// TestBlocksFaults: what the cloud refuses is told, and nothing is left of it. An answer that cannot be is not believed.
func TestBlocksFaults(t *testing.T) {
	c, _, open := newBlocks(t, nil)
	for _, x := range []struct {
		action, refused string
		code            heddle.Code
	}{
		{"AssignPrivateIpAddresses", "PrivateIpAddressLimitExceeded", heddle.NICNotGranted},
		{"AssignPrivateIpAddresses", "UnauthorizedOperation", heddle.NICNotGranted},
		{"AssignIpv6Addresses", "UnauthorizedOperation", heddle.NICNotGranted},
	} {
		c.Set(local.Faults{Refuse: map[string]string{x.action: x.refused}})
		if card, err := open(byPrefixes(0)).Assign(t.Context(), "p-1", 1); x.code.In(err) == nil || len(c.Blocks("eni-local1"))+len(c.Further("eni-local1")) > 0 {
			t.Errorf("%+v: %+v, %v; the cloud has %v", x, card, err, c.Blocks("eni-local1"))
		}
	}
	for _, given := range [][]string{{}, {"192.0.2.32/27"}, {"192.0.2.33/28"}, {"198.51.100.0/28"}, {"192.0.2.32"}, {"192.0.2.32/28", "192.0.2.48/28"}, {"192.0.2.0/28"}, {"2001:db8::/80"}} { // 192.0.2.11 is the NIC's
		c.Set(local.Faults{Given: given})
		if card, err := open(byPrefixes(0)).Assign(t.Context(), "p-1", 1); heddle.NotPlugged.In(err) == nil {
			t.Errorf("%v: %+v, %v", given, card, err)
		}
		c.Set(local.Faults{})
		for _, b := range c.Blocks("eni-local1") {
			if b.Addr().Is4() {
				p := open(byPrefixes(0))
				card, err := p.Assign(t.Context(), "p-1", 1) // what it had given is made whole
				cell.Must(t, err)
				cell.Must(t, p.UnassignPrefix(t.Context(), "p-1", card.Prefixes[0]))
			}
		}
	}
}

// TestBlocksXen: where NICs have no prefixes, the file is at fault.
func TestBlocksXen(t *testing.T) {
	c, p, _ := newBlocks(t, func(o *local.Options) { o.Xen = true })
	if o, err := p.Describe(t.Context()); err != nil || o.Addresses != 3 {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := p.Assign(t.Context(), "p-1", 1); heddle.BadOption.In(err) == nil || c.Calls("AssignPrivateIpAddresses") > 0 {
		t.Errorf("a type whose NICs have no prefixes: %v", err)
	}
}

// TestBlocksLost: an agent that ended when a call had been made, and before its answer, leaves a prefix that the next agent finds. None is assigned twice, and what was
// to be taken off is not used.
func TestBlocksLost(t *testing.T) {
	for _, action := range soak.OneOf(t, "AssignPrivateIpAddresses", "AssignIpv6Addresses") {
		t.Run(action, func(t *testing.T) {
			c, p, open := newBlocks(t, nil)
			time.Sleep(1500 * time.Millisecond) // so the list has the NIC before it has the prefix
			c.Set(local.Faults{LostOf: action})
			if card, err := p.Assign(t.Context(), "p-1", 1); heddle.NICServiceDown.In(err) == nil || c.Calls(action) != 1 {
				t.Errorf("%+v, %v, %d calls", card, err, c.Calls(action))
			}
			c.Set(local.Faults{Lag: 1200 * time.Millisecond})
			card, err := open(byPrefixes(1500*time.Millisecond)).Assign(t.Context(), "p-1", 1)
			if err != nil || !has(card, 1, 16) || len(c.Blocks("eni-local1")) != 2 {
				t.Errorf("%+v, %v; the cloud has %v", card, err, c.Blocks("eni-local1"))
			}
		})
	}
	c, _, open := newBlocks(t, nil)
	p := open(byPrefixes(time.Second))
	card, err := p.Assign(t.Context(), "p-1", 1)
	cell.Must(t, err)
	c.Set(local.Faults{LostOf: "UnassignPrivateIpAddresses"})
	if err := p.UnassignPrefix(t.Context(), "p-1", card.Prefixes[0]); heddle.NICServiceDown.In(err) == nil || c.Calls("UnassignPrivateIpAddresses") != 1 {
		t.Error(err)
	}
	c.Set(local.Faults{Lag: 800 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if card, err = p.Assign(ctx, "p-1", 1); err != nil || !has(card, 1, 16) || len(c.Blocks("eni-local1")) != 2 {
		t.Errorf("%+v, %v; the cloud has %v", card, err, c.Blocks("eni-local1"))
	}
}

// TestBlocksTurnedOff: a NIC that has prefixes keeps them when the file says no more that it gets some, and gives them back whole. It gets single addresses then.
func TestBlocksTurnedOff(t *testing.T) {
	c, p, open := newBlocks(t, nil)
	card, err := p.Assign(t.Context(), "p-1", 1)
	cell.Must(t, err)
	p = open(lags(0))
	if all, err := p.List(t.Context()); err != nil || !has(all[0], 1, 16) || !slices.Equal(all[0].Further[3], card.Further[3]) {
		t.Errorf("%+v, %v", all, err)
	}
	cell.Must(t, p.UnassignPrefix(t.Context(), "p-1", card.Prefixes[0]))
	if card, err = p.Assign(t.Context(), "p-1", 1); err != nil || len(card.Further) != 1 || len(card.Prefixes) > 0 || len(c.Further("eni-local1")) != 2 {
		t.Errorf("%+v, %v; the cloud has %v", card, err, c.Further("eni-local1"))
	}
}
