package aliyun

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/eni"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/cloud"
)

func order(token string) nic.Order { return nic.Order{Token: token, Network: "lan"} }

// TestPlug: a NIC is made and attached once, however often it is ordered, and by another agent, too. It is found, counted, and deleted.
func TestPlug(t *testing.T) {
	c, p, open := newCloud(t, nil)
	c.Set(quick)
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
		!slices.Equal(card.Gateways, []netip.Addr{netip.MustParseAddr("192.0.2.253"), netip.MustParseAddr("2001:db8::ffff:ffff:ffff:fffd")}) ||
		!slices.Equal(card.Closed, closed) || card.MTU != 1500 {
		t.Errorf("%+v; told of %s", card, told)
	}
	o.Chosen = func(heddle.MAC) error { return nil }
	for _, one := range []*agent{p, open()} {
		again, err := one.Plug(t.Context(), o)
		if err != nil || again.MAC != card.MAC || len(c.IDs()) != 1 {
			t.Errorf("%+v, %v, NICs %v", again, err, c.IDs())
		}
		all, err := one.List(t.Context())
		if err != nil || len(all) != 1 || all[0].Token != "e-1" || !all[0].Plugged || len(all[0].Gateways) != 2 {
			t.Errorf("%+v, %v", all, err)
		}
	}
	if offer, err := p.Describe(t.Context()); err != nil || offer.Machine != me || offer.Slots != 3 || offer.Free != 2 || !slices.Equal(offer.Networks, []string{"gone", "lan", "same"}) {
		t.Errorf("%+v, %v", offer, err)
	}
	o.Chosen = nil
	if _, err := p.Plug(t.Context(), o); heddle.EndpointDiffers.In(err) == nil {
		t.Error(err)
	}
	for range 2 {
		cell.Must(t, p.Unplug(t.Context(), "e-1"))
	}
	if all, err := p.List(t.Context()); err != nil || len(all) > 0 || len(c.IDs()) > 0 {
		t.Errorf("%+v, %v, NICs %v", all, err, c.IDs())
	}
}

// TestFaults: what the cloud refuses for now is tried again, and what it refuses is told. No NIC is made twice, and none is left.
func TestFaults(t *testing.T) {
	refuse := func(action, code string) cloud.Faults { return cloud.Faults{Refuse: map[string]string{action: code}} }
	for _, x := range []struct {
		name   string
		faults cloud.Faults
		change func(*cloud.Options)
		order  nic.Order
		code   heddle.Code
		left   int
	}{
		{name: "throttled", faults: cloud.Faults{Throttled: 3}, order: order("e-1")},
		{name: "forbidden", faults: refuse("CreateNetworkInterface", "Forbidden.RAM"), order: order("e-1"), code: heddle.NICNotGranted},
		{name: "forbidden later", faults: refuse("AttachNetworkInterface", "Forbidden.SubUser"), order: order("e-1"), code: heddle.NICNotGranted, left: 1},
		{name: "no address", change: func(o *cloud.Options) {
			v := o.VSwitches["vsw-1"]
			v.Free = 0
			o.VSwitches["vsw-1"] = v
		}, order: order("e-1"), code: heddle.PoolExhausted},
		{name: "no room", change: func(o *cloud.Options) { o.NICs = 1 }, order: order("e-1"), code: heddle.NoSlot},
		{name: "no vSwitch", order: nic.Order{Token: "e-1", Network: "gone"}, code: heddle.BadArgument},
		{name: "no network", order: nic.Order{Token: "e-1", Network: "other"}, code: heddle.NICNotGranted},
		{name: "a MAC address", order: nic.Order{Token: "e-1", Network: "lan", MAC: "0a:00:00:00:00:99"}, code: heddle.BadOption},
		{name: "a move", order: nic.Order{Token: "e-1", Network: "lan", From: "i-other"}, code: heddle.BadOption},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, p, _ := newCloud(t, x.change)
			c.Set(x.faults)
			_, err := p.Plug(t.Context(), x.order)
			if x.code == "" && err != nil || x.code != "" && x.code.In(err) == nil {
				t.Error(err)
			}
			if x.code != "" && len(c.IDs()) != x.left {
				t.Errorf("NICs %v", c.IDs())
			}
			c.Set(cloud.Faults{})
			if err := p.Unplug(t.Context(), x.order.Token); err != nil || len(c.IDs()) > 0 {
				t.Errorf("%v; left are %v", err, c.IDs())
			}
		})
	}
}

// TestLost: an answer that is lost makes no second NIC. A cloud that is away is said to be, and what is begun goes on when it is back.
func TestLost(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	c.Set(cloud.Faults{Lost: true})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := p.Plug(ctx, order("e-1")); heddle.NICServiceDown.In(err) == nil || len(c.IDs()) > 0 {
		t.Error(err, c.IDs())
	}
	go func() {
		for c.Calls("CreateNetworkInterface") < 2 {
			time.Sleep(10 * time.Millisecond)
		}
		c.Set(cloud.Faults{})
	}()
	c.Set(cloud.Faults{LostOf: "CreateNetworkInterface"})
	card, err := p.Plug(t.Context(), order("e-1"))
	if err != nil || len(c.IDs()) != 1 || c.Calls("CreateNetworkInterface") < 2 {
		t.Errorf("%+v, %v, NICs %v", card, err, c.IDs())
	}
	again, err := p.Plug(t.Context(), order("e-1"))
	if err != nil || again.MAC != card.MAC || len(c.IDs()) != 1 {
		t.Errorf("%+v, %v, NICs %v", again, err, c.IDs())
	}
}

// TestStuck: a NIC that the machine does not let go of is told, and is taken out when it does.
func TestStuck(t *testing.T) {
	c, p, open := newCloud(t, nil)
	_, err := p.Plug(t.Context(), order("e-1"))
	cell.Must(t, err)
	c.Set(cloud.Faults{Stuck: true})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := p.Unplug(ctx, "e-1"); heddle.Waited.In(err) == nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if n := c.Calls("DetachNetworkInterface"); n != 1 {
		t.Errorf("it is asked to detach %d times", n)
	}
	c.Finish()
	if err := open().Unplug(t.Context(), "e-1"); err != nil || len(c.IDs()) > 0 {
		t.Errorf("%v, left are %v", err, c.IDs())
	}
}

// TestTwins: of two NICs with one token one counts. The other one is a stray, and so is one that was never attached. NICs of other machines, and
// those without our tags, are none of ours.
func TestTwins(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	tags := func(machine, token string) [][2]string {
		return [][2]string{{eni.TagMachine, machine}, {eni.TagToken, token}, {eni.TagNetwork, "lan"}}
	}
	c.Put("eni-1", "Available", "", tags(me, "e-1")...)
	c.Put("eni-2", "InUse", me, tags(me, "e-1")...)
	c.Put("eni-3", "Available", "", tags(me, "e-1")...)
	c.Put("eni-4", "Available", "", tags(me, "x-eni-2")...)
	c.Put("eni-5", "InUse", "i-other", tags("i-other", "e-1")...)
	c.Put("eni-6", "Available", "")
	all, err := p.List(t.Context())
	var tokens []string
	for _, card := range all {
		tokens = append(tokens, card.Token)
	}
	if err != nil || !slices.Equal(tokens, []string{"e-1", "x-eni-1", "x-eni-3", "x-eni-4"}) || !all[0].Plugged {
		t.Fatalf("%v, %v", all, err)
	}
	for _, token := range []string{"x-eni-1", "x-eni-5", "x-eni-6", "e-2"} {
		cell.Must(t, p.Unplug(t.Context(), token))
	}
	if got := c.IDs(); !slices.Equal(got, []string{"eni-2", "eni-3", "eni-4", "eni-5", "eni-6"}) {
		t.Error(got)
	}
	cell.Must(t, p.Unplug(t.Context(), "e-1"))
	if got := c.IDs(); !slices.Equal(got, []string{"eni-4", "eni-5", "eni-6"}) {
		t.Error(got)
	}
}

// TestSpare: as long as none of several NICs with one token is attached, none is spare: one may be about to be.
func TestSpare(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	tags := [][2]string{{eni.TagMachine, me}, {eni.TagToken, "e-1"}, {eni.TagNetwork, "lan"}}
	c.Put("eni-1", available, "", tags...)
	c.Put("eni-2", available, "", tags...)
	if all, err := p.List(t.Context()); err != nil || len(all) != 1 || all[0].Token != "e-1" || all[0].Plugged {
		t.Errorf("%+v, %v", all, err)
	}
	for _, token := range []string{"x-eni-1", "x-eni-2"} {
		cell.Must(t, p.Unplug(t.Context(), token))
	}
	if got := c.IDs(); len(got) != 2 {
		t.Error(got)
	}
	card, err := p.Plug(t.Context(), order("e-1"))
	if err != nil || len(c.IDs()) != 2 {
		t.Errorf("%+v, %v, NICs %v", card, err, c.IDs())
	}
	all, err := p.List(t.Context())
	if err != nil || len(all) != 2 || all[0].MAC != card.MAC || !strings.HasPrefix(all[1].Token, "x-") {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestAnswers: what is none of ours is left alone, also if the cloud answers something else than was asked.
func TestAnswers(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	c.Put("eni-foreign", available, "")
	c.Put("eni-other", inUse, "i-other", [][2]string{{eni.TagMachine, "i-other"}, {eni.TagToken, "e-1"}, {eni.TagNetwork, "lan"}}...)
	c.Set(cloud.Faults{Unfiltered: true})
	card, err := p.Plug(t.Context(), order("e-1"))
	if err != nil || card.MAC == "0a:00:00:00:00:01" {
		t.Errorf("%+v, %v", card, err)
	}
	if all, err := p.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	for _, token := range []string{"e-1", "x-eni-foreign", "x-eni-other", "x-eni-primary"} {
		cell.Must(t, p.Unplug(t.Context(), token))
	}
	if got := c.IDs(); !slices.Equal(got, []string{"eni-foreign", "eni-other"}) {
		t.Error(got)
	}
}

// TestAsked: an order may ask for addresses. No more NICs are made than
// the configuration allows.
func TestAsked(t *testing.T) {
	_, p, _ := newCloud(t, nil)
	o := order("e-1")
	o.IPs = []netip.Addr{netip.MustParseAddr("192.0.2.77"), netip.MustParseAddr("2001:db8::77")}
	card, err := p.Plug(t.Context(), o)
	if err != nil || len(card.Addrs) != 2 || card.Addrs[0].Addr() != o.IPs[0] || card.Addrs[1].Addr() != o.IPs[1] {
		t.Errorf("%+v, %v", card, err)
	}
	o.Network = "same"
	if _, err := p.Plug(t.Context(), o); heddle.EndpointDiffers.In(err) == nil {
		t.Error(err)
	}
	if _, err := p.again(t, func(s *eni.Settings) { s.Most = 1 }).Plug(t.Context(), order("e-2")); heddle.NoSlot.In(err) == nil {
		t.Error(err)
	}
	cell.Must(t, p.Unplug(t.Context(), "e-1"))
}

// TestNoIPv6: a NIC of a type of instance that can have no IPv6 address has none.
func TestNoIPv6(t *testing.T) {
	_, p, _ := newCloud(t, func(o *cloud.Options) { o.IPv6s = 0 })
	if card, err := p.Plug(t.Context(), order("e-3")); err != nil || len(card.Addrs) != 1 {
		t.Errorf("%+v, %v", card, err)
	}
}

// TestSessions: a session with the metadata service that it does not know any more is begun anew. Without a role nothing is asked of the API.
func TestSessions(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	for range 2 {
		if _, err := p.ecs.meta.instance(t.Context()); err != nil {
			t.Error(err)
		}
		c.Forget()
	}
	cell.Must(t, p.ecs.role.refresh(t.Context()))
	if !p.ecs.role.fresh() {
		t.Error("credentials of six hours are to be renewed")
	}
	p.ecs.role.until = time.Now()
	c.NoRole()
	if _, err := p.List(t.Context()); heddle.NICNotGranted.In(err) == nil || !strings.Contains(err.Error(), "has no role") || c.Calls("DescribeNetworkInterfaces") > 0 {
		t.Error(err)
	}
}

// TestConflict: a NIC, or an instance, that is just changing is asked again.
func TestConflict(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	for action, code := range map[string]string{"CreateNetworkInterface": "Operation.Conflict", "AttachNetworkInterface": "InvalidOperation.InvalidEcsState"} {
		c.Set(cloud.Faults{Refuse: map[string]string{action: code}})
		begun := make(chan struct{})
		go func() {
			defer close(begun)
			for before := c.Calls(action); c.Calls(action) == before; {
				time.Sleep(10 * time.Millisecond)
			}
			c.Set(cloud.Faults{})
		}()
		if _, err := p.Plug(t.Context(), order("e-"+strings.ToLower(action))); err != nil {
			t.Error(err)
		}
		<-begun
	}
}

// TestNotChosen: if the agent cannot be told of the NIC's MAC address, the machine does not get the NIC.
func TestNotChosen(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	o, want := order("e-1"), errors.New("no")
	o.Chosen = func(heddle.MAC) error { return want }
	if _, err := p.Plug(t.Context(), o); !errors.Is(err, want) || c.Calls("AttachNetworkInterface") > 0 {
		t.Error(err)
	}
}
