package service

import (
	"context"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/remote"
)

// TestRoundTrip makes all calls over TLS, by IPv4 and by IPv6.
func TestRoundTrip(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			s := serve(t, newWorld(), host)
			c := s.client(t, "a")
			o := nic.Order{Token: "x-1", Network: "dmz", MAC: "0a:00:00:00:01:00", IPs: []netip.Addr{netip.MustParseAddr("192.0.2.77")}}
			card, err := c.Plug(ctx, o)
			must(t, err)
			want := nic.Card{Token: "x-1", Network: "dmz", MAC: o.MAC, MTU: 1500, Plugged: true,
				Addrs:    []netip.Prefix{netip.MustParsePrefix("192.0.2.77/24"), netip.MustParsePrefix("2001:db8::1/64")},
				Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}}
			if !reflect.DeepEqual(card, want) {
				t.Errorf("%+v", card)
			}
			again, err := c.Plug(ctx, o)
			if err != nil || !reflect.DeepEqual(again, card) {
				t.Error(again, err)
			}
			if _, err := s.Make(ctx, "a", order("b"), false); err != nil { // a port without a device
				t.Error(err)
			}
			all, err := c.List(ctx)
			if err != nil || len(all) != 2 || all[0].Token != "b" || all[0].Plugged || !reflect.DeepEqual(all[1], card) {
				t.Error(all, err)
			}
			offer, err := c.Describe(ctx)
			if err != nil || !reflect.DeepEqual(offer, nic.Offer{Machine: "a", Networks: []string{"lan", "dmz"}, Slots: 2, Free: 0, Addresses: 2}) {
				t.Error(offer, err)
			}
			card, err = c.Assign(ctx, "x-1", 1)
			if err != nil || len(card.Further) != 1 {
				t.Error(card, err)
			}
			_, err = c.Assign(ctx, "x-1", 3)
			refused(t, "too many addresses", err, heddle.TooMuch)
			must(t, c.Unassign(ctx, "x-1", netip.MustParseAddr("192.0.2.100")))
			must(t, c.Unassign(ctx, "x-1", netip.MustParseAddr("192.0.2.100")))
			if all, err = c.List(ctx); err != nil || len(all) != 2 || len(all[1].Further) != 0 {
				t.Error(all, err)
			}
			_, err = c.Plug(ctx, order("third"))
			refused(t, "third NIC", err, heddle.NoSlot)
			must(t, c.Unplug(ctx, "x-1"))
			must(t, c.Unplug(ctx, "x-1"))
			if got := s.world.state(); got != "a/b" {
				t.Error(got)
			}
			offer, err = s.client(t, "b").Describe(ctx)
			if err != nil || !reflect.DeepEqual(offer, nic.Offer{Machine: "b", Networks: []string{"lan"}, Slots: 4, Free: 4}) {
				t.Error(offer, err)
			}
			must(t, s.stop())
			_, err = c.List(ctx)
			refused(t, "no service", err, heddle.NICServiceDown)
		})
	}
}

// TestOthers: NICs of another machine are not seen, and not removed; the same token is another NIC there.
func TestOthers(t *testing.T) {
	s := serve(t, newWorld(), "127.0.0.1")
	a, b := s.client(t, "a"), s.client(t, "b")
	one, err := a.Plug(ctx, order("x"))
	must(t, err)
	if all, err := b.List(ctx); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
	must(t, b.Unplug(ctx, "x"))
	if got := s.world.state(); got != "a/x, a=tap1" {
		t.Error(got)
	}
	other, err := b.Plug(ctx, order("x"))
	if err != nil || other.MAC == one.MAC {
		t.Error(other, err)
	}
	must(t, b.Unplug(ctx, "x"))
	if all, err := a.List(ctx); err != nil || len(all) != 1 || !all[0].Plugged {
		t.Error(all, err)
	}
}

// TestMoveCalls makes the calls of a move over TLS. Neither machine has a word about the other one's NICs.
func TestMoveCalls(t *testing.T) {
	s := serve(t, newWorld(), "127.0.0.1")
	a, b := s.client(t, "a"), s.client(t, "b")
	was, err := a.Plug(ctx, order("x"))
	must(t, err)
	refused(t, "take", errOf(b.Plug(ctx, over())), heddle.NICNotGranted)
	refused(t, "permit", b.Permit(ctx, "x", "b", "y"), heddle.NICNotGranted)
	must(t, a.Permit(ctx, "x", "b", "y"))
	must(t, b.Permit(ctx, "x", "", "")) // of b's own x, which is not there
	refused(t, "confirm", b.Confirm(ctx, "y"), heddle.NICNotGranted)
	offer, err := b.Describe(ctx)
	if err != nil || len(offer.Permitted) != 1 || offer.Permitted[0].MAC != was.MAC || offer.Permitted[0].Token != "y" {
		t.Error(offer, err)
	}
	card, err := b.Plug(ctx, over())
	if err != nil || card.MAC != was.MAC || card.From != "a" || card.Dark <= 0 {
		t.Error(card, err)
	}
	must(t, b.Confirm(ctx, "y"))
	if got := s.world.state(); got != "b/y, b=tap1" {
		t.Error(got)
	}
}

// TestErrors: an error has its code at the other end, also one of the hypervisor's.
func TestErrors(t *testing.T) {
	s := serve(t, newWorld(), "127.0.0.1")
	c := s.client(t, "a")
	_, err := c.Plug(ctx, nic.Order{Token: "x", Network: "wan"})
	refused(t, "network", err, heddle.NICNotGranted)
	s.fail("plug tap1", errors.New("no slot"))
	_, err = c.Plug(ctx, order("x"))
	refused(t, "machine", err, heddle.NotPlugged)
	if err == nil || !strings.Contains(err.Error(), "no slot") || s.world.state() != "" {
		t.Error(err, s.world.state())
	}
	s.fail("plugged", errors.New("down"))
	s.fail("slots", errors.New("down"))
	_, err = c.List(ctx)
	refused(t, "list", err, heddle.NotPlugged)
	_, err = c.Describe(ctx)
	refused(t, "offer", err, heddle.NotPlugged)
}

// TestExpired: a caller whose time is over gets an error, and the NIC is there when it asks again.
func TestExpired(t *testing.T) {
	w := newWorld()
	s := serve(t, w, "127.0.0.1")
	c := s.client(t, "a")
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err := c.Plug(over, order("x"))
	refused(t, "canceled", err, heddle.Waited)
	if got := w.state(); got != "" {
		t.Error(got)
	}
	begun, goOn := make(chan struct{}), make(chan struct{})
	w.wait = func(string) { close(begun); <-goOn }
	late, cancel := context.WithCancel(ctx)
	go func() { <-begun; cancel() }()
	_, err = c.Plug(late, order("x"))
	refused(t, "disconnected", err, heddle.Waited)
	close(goOn)
	card, err := c.Plug(ctx, order("x"))
	if err != nil || !card.Plugged || w.took() != "make a/x, open tap1, plug tap1" {
		t.Error(card, err)
	}
}

// TestTimesFit: work that took as long as it may is answered before the client gives up.
func TestTimesFit(t *testing.T) {
	if waitTime+workTime+undoTime >= answerTime || answerTime >= remote.CallTime {
		t.Error("the times do not fit")
	}
}
