package aws

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/eni"
	"github.com/heddle-network/heddle/test/cell"
	local "github.com/heddle-network/heddle/test/cloud"
)

func order(token string) nic.Order { return nic.Order{Token: token, Network: "lan"} }

// TestPlug: a NIC is made, attached and tied to the instance once, however often it is ordered, and by another agent, too. It is found, counted, and deleted.
func TestPlug(t *testing.T) {
	c, p, open := newCloud(t, nil)
	c.Set(local.Faults{Delay: 100 * time.Millisecond, Lag: 700 * time.Millisecond})
	told := heddle.MAC("")
	o := order("e-1")
	o.MAC = "0a:00:00:00:00:99"
	o.Chosen = func(mac heddle.MAC) error {
		told = mac
		if n := c.Calls("AttachNetworkInterface"); n != 0 {
			t.Errorf("it is told after %d calls to attach", n)
		}
		return nil
	}
	card, err := p.Plug(t.Context(), o)
	cell.Must(t, err)
	if card.Check("e-1", "lan") != nil || !card.Plugged || card.MAC != told || len(card.Addrs) != 2 || card.Addrs[0].Bits() != 24 || card.Addrs[1].Bits() != 64 ||
		!slices.Equal(card.Gateways, []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("fe80:ec2::1")}) || !slices.Equal(card.Closed, closed) || card.MTU != 1500 {
		t.Errorf("%+v; told of %s", card, told)
	}
	if !c.Tied(c.IDs()[0]) {
		t.Error("the NIC stays when its instance goes")
	}
	o.Chosen = func(heddle.MAC) error { return nil }
	for _, one := range []*eni.Provider{p, open(as)} {
		again, err := one.Plug(t.Context(), o)
		if err != nil || again.MAC != card.MAC || len(c.IDs()) != 1 {
			t.Errorf("%+v, %v, NICs %v", again, err, c.IDs())
		}
		all, err := one.List(t.Context())
		if err != nil || len(all) != 1 || all[0].Token != "e-1" || !all[0].Plugged || len(all[0].Gateways) != 2 {
			t.Errorf("%+v, %v", all, err)
		}
	}
	if offer, err := p.Describe(t.Context()); err != nil || offer.Machine != me || offer.Slots != 3 || offer.Free != 2 || !slices.Equal(offer.Networks, []string{"gone", "lan"}) || !slices.Equal(offer.DHCP, offer.Networks) {
		t.Errorf("%+v, %v", offer, err)
	}
	o.Chosen = nil
	if _, err := p.Plug(t.Context(), o); heddle.EndpointDiffers.In(err) == nil {
		t.Error(err)
	}
	for range 2 {
		cell.Must(t, p.Unplug(t.Context(), "e-1"))
	}
	for _, action := range []string{"Create", "Attach", "Detach", "Delete"} {
		if n := c.Calls(action + "NetworkInterface"); n != 1 {
			t.Errorf("%d calls to %s", n, action)
		}
	}
	if all, err := p.List(t.Context()); err != nil || len(all) > 0 || len(c.IDs()) > 0 {
		t.Errorf("%+v, %v, NICs %v", all, err, c.IDs())
	}
}

// TestFaults: what the cloud refuses for now is tried again, and what it refuses is told. No NIC is left.
func TestFaults(t *testing.T) {
	refuse := func(action, code string) local.Faults { return local.Faults{Refuse: map[string]string{action: code}} }
	for _, x := range []struct {
		name   string
		faults local.Faults
		change func(*local.Options)
		order  nic.Order
		code   heddle.Code
		left   int
	}{
		{name: "throttled", faults: local.Faults{Throttled: 3}, order: order("e-1")},
		{name: "wanted addresses", order: nic.Order{Token: "e-1", Network: "lan", IPs: []netip.Addr{netip.MustParseAddr("192.0.2.77"), netip.MustParseAddr("2001:db8::77")}}},
		{name: "forbidden", faults: refuse("CreateNetworkInterface", "UnauthorizedOperation"), order: order("e-1"), code: heddle.NICNotGranted},
		{name: "forbidden later", faults: refuse("AttachNetworkInterface", "UnauthorizedOperation"), order: order("e-1"), code: heddle.NICNotGranted, left: 1},
		{name: "not tied", faults: refuse("ModifyNetworkInterfaceAttribute", "UnauthorizedOperation"), order: order("e-1"), code: heddle.NICNotGranted, left: 1},
		{name: "no address", change: func(o *local.Options) {
			v := o.VSwitches["subnet-1"]
			v.Free = 0
			o.VSwitches["subnet-1"] = v
		}, order: order("e-1"), code: heddle.PoolExhausted},
		{name: "no room", change: func(o *local.Options) { o.NICs = 1 }, order: order("e-1"), code: heddle.NoSlot},
		{name: "no subnet", order: nic.Order{Token: "e-1", Network: "gone"}, code: heddle.BadArgument},
		{name: "no network", order: nic.Order{Token: "e-1", Network: "other"}, code: heddle.NICNotGranted},
		{name: "a MAC address", order: nic.Order{Token: "e-1", Network: "lan", MAC: "0a:00:00:00:00:99"}, code: heddle.BadOption},
		{name: "a move", order: nic.Order{Token: "e-1", Network: "lan", From: "i-other"}, code: heddle.BadOption},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, p, _ := newCloud(t, x.change)
			c.Set(x.faults)
			card, err := p.Plug(t.Context(), x.order)
			if x.code == "" && err != nil || x.code != "" && x.code.In(err) == nil {
				t.Error(err)
			}
			for _, a := range x.order.IPs {
				if !slices.ContainsFunc(card.Addrs, func(p netip.Prefix) bool { return p.Addr() == a }) {
					t.Errorf("%v has no %v", card.Addrs, a)
				}
			}
			if x.code != "" && len(c.IDs()) != x.left {
				t.Errorf("NICs %v", c.IDs())
			}
			c.Set(local.Faults{})
			if err := p.Unplug(t.Context(), x.order.Token); err != nil || len(c.IDs()) > 0 {
				t.Errorf("%v; left are %v", err, c.IDs())
			}
		})
	}
}

// TestLost: an answer that is lost makes no second NIC. A cloud that is away is said to be, and what is begun goes on when it is back.
func TestLost(t *testing.T) {
	c, p, open := newCloud(t, nil)
	c.Set(local.Faults{Away: true})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := p.Plug(ctx, order("e-1")); heddle.NICServiceDown.In(err) == nil || len(c.IDs()) > 0 {
		t.Error(err, c.IDs())
	}
	go func() {
		for c.Calls("CreateNetworkInterface") < 2 {
			time.Sleep(10 * time.Millisecond)
		}
		c.Set(local.Faults{})
	}()
	c.Set(local.Faults{LostOf: "CreateNetworkInterface"})
	card, err := p.Plug(t.Context(), order("e-1"))
	if err != nil || len(c.IDs()) != 1 || c.Calls("CreateNetworkInterface") < 2 {
		t.Errorf("%+v, %v, NICs %v", card, err, c.IDs())
	}
	again, err := open(as).Plug(t.Context(), order("e-1"))
	if err != nil || again.MAC != card.MAC || len(c.IDs()) != 1 {
		t.Errorf("%+v, %v, NICs %v", again, err, c.IDs())
	}
}

// TestNoIPv6: a NIC of a type of instance that can have no IPv6 address has none, also where the subnet gives one by itself.
func TestNoIPv6(t *testing.T) {
	_, p, _ := newCloud(t, func(o *local.Options) { o.IPv6s = 0 })
	if card, err := p.Plug(t.Context(), order("e-1")); err != nil || len(card.Addrs) != 1 {
		t.Errorf("%+v, %v", card, err)
	}
}

// TestSessions: a session that the metadata service has forgotten is begun anew. Without a role nothing is asked of the API.
func TestSessions(t *testing.T) {
	c, p, open := newCloud(t, nil)
	_, err := p.Describe(t.Context())
	cell.Must(t, err)
	c.Forget()
	if _, err := open(as).List(t.Context()); err != nil {
		t.Error(err)
	}
	calls := c.Calls("DescribeNetworkInterfaces")
	c.NoRole()
	if _, err := open(as).List(t.Context()); heddle.NICNotGranted.In(err) == nil || !strings.Contains(err.Error(), "has no role") || c.Calls("DescribeNetworkInterfaces") != calls {
		t.Error(err)
	}
}
