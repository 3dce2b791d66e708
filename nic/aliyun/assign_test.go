package aliyun

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/cloud"
)

// newSharing is newCloud with a type of instance whose NICs may have four addresses of a family, and a NIC that is plugged in. Its agents have run for some
// time.
func newSharing(t *testing.T, change func(*cloud.Options)) (c *cloud.Cloud, p *agent, open func() *agent) {
	t.Helper()
	c, p, _ = newCloud(t, func(o *cloud.Options) {
		o.IPv4s, o.IPv6s = 4, 4
		if change != nil {
			change(o)
		}
	})
	_, err := p.Plug(t.Context(), order("p-1"))
	cell.Must(t, err)
	return c, p, func() *agent { return p.again(t, lags(0)) }
}

// fours are the IPv4 addresses among the further ones that a NIC has in the cloud, sixes the others.
func fours(c *cloud.Cloud, id string) (all []netip.Addr) {
	return slices.DeleteFunc(c.Further(id), netip.Addr.Is6)
}

func sixes(c *cloud.Cloud, id string) (all []netip.Addr) {
	return slices.DeleteFunc(c.Further(id), netip.Addr.Is4)
}

// TestAssign: a NIC gets sets of further addresses, each an address of each family, and no more of them than were asked for, also by an agent that is started
// anew. One is taken off by either of its addresses. The first addresses are in no set.
func TestAssign(t *testing.T) {
	c, p, open := newSharing(t, nil)
	c.Set(cloud.Faults{Lag: 300 * time.Millisecond})
	if o, err := p.Describe(t.Context()); err != nil || o.Addresses != 3 {
		t.Errorf("%+v, %v", o, err)
	}
	first, err := p.Assign(t.Context(), "p-1", 1)
	cell.Must(t, err)
	card, err := p.Assign(t.Context(), "p-1", 3) // the list lacks the first set still
	cell.Must(t, err)
	if card.Check("p-1", "lan") != nil || len(card.Further) != 3 || len(card.Addrs) != 2 || !slices.ContainsFunc(card.Further, func(s []netip.Prefix) bool { return slices.Equal(s, first.Further[0]) }) {
		t.Errorf("%+v, before that %+v", card, first)
	}
	for _, set := range card.Further {
		if len(set) != 2 || !netip.MustParsePrefix(fourth).Contains(set[0].Addr()) || set[0].Bits() != 24 || partner(set[0].Addr()) != set[1].Addr() || set[1].Bits() != 64 {
			t.Errorf("%v", set)
		}
	}
	time.Sleep(400 * time.Millisecond) // for the list
	for _, one := range []*agent{p, open()} {
		again, err := one.Assign(t.Context(), "p-1", 3)
		all, err2 := one.List(t.Context())
		if err != nil || err2 != nil || !same(again, card) || len(all) != 1 || !same(all[0], card) || len(fours(c, "eni-local1")) != 3 || len(sixes(c, "eni-local1")) != 3 {
			t.Errorf("%+v, %v, %+v, %v", again, err, all, err2)
		}
	}
	calls := c.Calls("AssignPrivateIpAddresses")
	for sets, want := range map[int]heddle.Code{4: heddle.TooMuch, -1: heddle.TooMuch} {
		if _, err := p.Assign(t.Context(), "p-1", sets); want.In(err) == nil {
			t.Errorf("%d sets: %v", sets, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // the list may be behind, so it is looked at again
	defer cancel()
	if _, err := p.Assign(ctx, "p-2", 1); heddle.NICNotGranted.In(err) == nil || c.Calls("AssignPrivateIpAddresses") != calls {
		t.Error(err)
	}
	for i, a := range []netip.Addr{card.Further[0][0].Addr(), card.Further[1][1].Addr(), card.Further[1][0].Addr(), card.Addrs[0].Addr(), netip.MustParseAddr("192.0.2.99")} {
		cell.Must(t, p.Unassign(t.Context(), "p-1", a))
		all, err := p.List(t.Context()) // the list still has what is gone
		if want := max(1, 2-i); err != nil || len(all[0].Further) != want || len(fours(c, "eni-local1")) != want || len(sixes(c, "eni-local1")) != want {
			t.Errorf("without %v: %+v, %v; the cloud has %v", a, all, err, c.Further("eni-local1"))
		}
	}
	again, err := p.Assign(t.Context(), "p-1", 2) // the cloud gives the same again, at once
	if err != nil || len(again.Further) != 2 || !hasSet(again, card.Further[2]) || len(fours(c, "eni-local1")) != 2 {
		t.Errorf("%+v, %v; the cloud has %v", again, err, c.Further("eni-local1"))
	}
}

// partner is the IPv6 address that goes with an IPv4 address of the vSwitch.
func partner(a netip.Addr) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("2001:db8::6865:6464:%x:%x", int(a.As4()[0])<<8+int(a.As4()[1]), int(a.As4()[2])<<8+int(a.As4()[3])))
}

// same reports whether two cards have the same further addresses.
func same(a, b nic.Card) bool { return fmt.Sprint(a.Further) == fmt.Sprint(b.Further) }

func hasSet(c nic.Card, set []netip.Prefix) bool {
	return slices.ContainsFunc(c.Further, func(s []netip.Prefix) bool { return slices.Equal(s, set) })
}

// TestAssignFaults: what the cloud refuses for now is asked again, and what it refuses is told. Nobody gets half a set, and nothing is left of it.
func TestAssignFaults(t *testing.T) {
	refuse := func(action, code string) cloud.Faults { return cloud.Faults{Refuse: map[string]string{action: code}} }
	for _, x := range []struct {
		name   string
		faults cloud.Faults
		change func(*cloud.Options)
		code   heddle.Code
	}{
		{name: "throttled", faults: cloud.Faults{Throttled: 3}},
		{name: "forbidden", faults: refuse("AssignPrivateIpAddresses", "Forbidden.RAM"), code: heddle.NICNotGranted},
		{name: "forbidden IPv6", faults: refuse("AssignIpv6Addresses", "Forbidden.RAM"), code: heddle.NICNotGranted},
		{name: "taken IPv6", faults: refuse("AssignIpv6Addresses", "InvalidIp.IpAssigned"), code: heddle.AddressTaken},
		{name: "quota", faults: refuse("AssignPrivateIpAddresses", "InvalidOperation.Ipv4CountExceeded"), code: heddle.NICNotGranted},
		{name: "quota of IPv6", faults: refuse("AssignIpv6Addresses", "InvalidOperation.Ipv6CountExceeded"), code: heddle.NICNotGranted},
		{name: "no address", change: func(o *cloud.Options) {
			v := o.VSwitches["vsw-1"]
			v.Free = 1
			o.VSwitches["vsw-1"] = v
		}, code: heddle.PoolExhausted},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, p, _ := newSharing(t, x.change)
			c.Set(x.faults)
			card, err := p.Assign(t.Context(), "p-1", 2)
			if x.code == "" && (err != nil || len(card.Further) != 2) || x.code != "" && (x.code.In(err) == nil || len(c.Further("eni-local1")) > 0) {
				t.Errorf("%+v, %v; the cloud has %v", card, err, c.Further("eni-local1"))
			}
			c.Set(cloud.Faults{})
			cell.Must(t, p.Unplug(t.Context(), "p-1"))
		})
	}
}

// TestAssignStrange: an answer, or a list, with addresses that the NIC cannot have is not believed.
func TestAssignStrange(t *testing.T) {
	many := []string{}
	for i := range 3000 {
		many = append(many, fmt.Sprintf("192.0.2.%d", i%256))
	}
	for name, given := range map[string][]string{"none": {}, "outside": {"198.51.100.7"}, "the router": {"192.0.2.253"}, "the first one": {"192.0.2.11"}, "no address": {"x"}, "many": many,
		"IPv6": {"2001:db8::5"}, "two": {"192.0.2.50", "192.0.2.51"}, "twice": {"192.0.2.50", "192.0.2.50"}} {
		t.Run(name, func(t *testing.T) {
			c, _, open := newSharing(t, nil)
			p := open()
			c.Set(cloud.Faults{Given: given})
			card, err := p.Assign(t.Context(), "p-1", 1)
			if heddle.NotPlugged.In(err) == nil || len(fours(c, "eni-local1")) != 1 {
				t.Errorf("%+v, %v; the cloud has %v", card, err, c.Further("eni-local1"))
			}
			c.Set(cloud.Faults{})
			if card, err = p.Assign(t.Context(), "p-1", 1); err != nil || len(card.Further) != 1 || len(fours(c, "eni-local1")) != 1 { // what it had given is made whole
				t.Errorf("%+v, %v; the cloud has %v", card, err, c.Further("eni-local1"))
			}
		})
	}
	c, p, _ := newSharing(t, func(o *cloud.Options) { o.IPv6s = 1 }) // sets are of one address
	c.Set(cloud.Faults{Listed: append([]string{"198.51.100.7", "192.0.2.253", "192.0.2.11", "0.0.0.0", "nonsense", "::1"}, many...)})
	all, err := p.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Check("p-1", "lan") != nil || len(all[0].Further) != 251 {
		t.Errorf("%d sets of %+v, %v", len(all[0].Further), all, err)
	}
	c.Set(cloud.Faults{})
	if all, err = p.List(t.Context()); err != nil || len(all[0].Further) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestAssignConflict: a NIC that is just changing is asked again.
func TestAssignConflict(t *testing.T) {
	c, p, _ := newSharing(t, nil)
	for sets, action := range []string{"AssignPrivateIpAddresses", "AssignIpv6Addresses"} {
		c.Set(cloud.Faults{Refuse: map[string]string{action: "Operation.Conflict"}})
		before := c.Calls(action)
		begun := make(chan struct{})
		go func() {
			defer close(begun)
			for c.Calls(action) == before {
				time.Sleep(10 * time.Millisecond)
			}
			c.Set(cloud.Faults{})
		}()
		card, err := p.Assign(t.Context(), "p-1", sets+1)
		if err != nil || len(card.Further) != sets+1 {
			t.Errorf("%+v, %v", card, err)
		}
		<-begun
	}
}
