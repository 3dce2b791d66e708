package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

var ctx = context.Background()

func order(token string) nic.Order { return nic.Order{Token: token, Network: "lan"} }

// TestPlug: port, TAP and device are made in this order, and taken away backwards.
func TestPlug(t *testing.T) {
	w := newWorld()
	s := w.service()
	card, err := s.Plug(ctx, "a", order("x"))
	must(t, err)
	if got := w.took(); got != "make a/x, open tap1, plug tap1" || !card.Plugged || card.MAC == "" {
		t.Error(got, card)
	}
	again, err := s.Plug(ctx, "a", order("x"))
	if fmt.Sprint(again) != fmt.Sprint(card) || err != nil || w.took() != "" {
		t.Error("asked again: ", again, err)
	}
	must(t, s.Unplug(ctx, "a", "x"))
	must(t, s.Unplug(ctx, "a", "y"))
	if got := w.took(); got != "unplug tap1, remove a/x" || w.state() != "" {
		t.Error(got, w.state())
	}
}

// TestPortThere: a port without a device is plugged, and stays when that fails. A device whose port was removed is
// replaced, for its TAP is gone.
func TestPortThere(t *testing.T) {
	w := newWorld()
	s := w.service()
	_, err := w.Make(ctx, "a", order("x"), false)
	must(t, err)
	w.devices["a"] = []string{"gone"}
	w.took()
	w.fail("plug tap1", errors.New("broken"))
	_, err = s.Plug(ctx, "a", order("x"))
	refused(t, "plug", err, heddle.NotPlugged)
	if got := w.took(); got != "open tap1, plug tap1, unplug tap1" || w.state() != "a/x, a=gone" {
		t.Error(got, w.state())
	}
	_, err = s.Plug(ctx, "a", order("y"))
	must(t, err)
	if got := w.took(); got != "make a/y, unplug gone, open tap2, plug tap2" || w.state() != "a/x, a/y, a=tap2" {
		t.Error(got, w.state())
	}
}

// TestUndo: what was made before an error is taken back, the device before its port.
func TestUndo(t *testing.T) {
	for _, c := range []struct {
		broken []string
		ops    string
		code   heddle.Code
	}{
		{[]string{"plugged"}, "", heddle.NotPlugged},
		{[]string{"list"}, "", heddle.NotPlugged},
		{[]string{"make a/x"}, "make a/x", heddle.NotPlugged},
		{[]string{"open tap1"}, "make a/x, open tap1, unplug tap1, remove a/x", heddle.NotPlugged},
		{[]string{"plug tap1"}, "make a/x, open tap1, plug tap1, unplug tap1, remove a/x", heddle.NotPlugged},
		{[]string{"plug tap1", "unplug tap1"}, "make a/x, open tap1, plug tap1, unplug tap1, remove a/x", heddle.UndoFailed},
		{[]string{"plug tap1", "remove a/x"}, "make a/x, open tap1, plug tap1, unplug tap1, remove a/x", heddle.UndoFailed},
	} {
		w := newWorld()
		for _, op := range c.broken {
			w.fail(op, errors.New("broken"))
		}
		_, err := w.service().Plug(ctx, "a", order("x"))
		refused(t, fmt.Sprint(c.broken), err, c.code)
		if got := w.took(); got != c.ops {
			t.Errorf("%v: %s", c.broken, got)
		}
	}
}

// TestUnplugFails: the port stays while the device is there.
func TestUnplugFails(t *testing.T) {
	w := newWorld()
	s := w.service()
	_, err := s.Plug(ctx, "a", order("x"))
	must(t, err)
	w.fail("unplug tap1", errors.New("broken"))
	refused(t, "unplug", s.Unplug(ctx, "a", "x"), heddle.NotPlugged)
	if got := w.state(); got != "a/x, a=tap1" {
		t.Error(got)
	}
	own := heddle.Errorf(heddle.LedgerFull, "make room", "x", "full", "make room")
	w.fail("unplug tap1", own)
	if err := s.Unplug(ctx, "a", "x"); !errors.Is(err, own) {
		t.Error("an error of ours is hidden: ", err)
	}
}

// TestRefused: orders that the configuration does not allow, or that contradict an earlier one, change nothing.
func TestRefused(t *testing.T) {
	w := newWorld()
	s := w.service()
	full := nic.Order{Token: "x", Network: "dmz", MAC: "0a:00:00:00:01:00", IPs: []netip.Addr{netip.MustParseAddr("2001:db8::77")}}
	_, err := s.Plug(ctx, "a", full)
	must(t, err)
	w.took()
	for what, c := range map[string]struct {
		machine string
		change  func(*nic.Order)
		code    heddle.Code
	}{
		"no such machine":    {"c", func(*nic.Order) {}, heddle.BadArgument},
		"malformed":          {"a", func(o *nic.Order) { o.Token = "X" }, heddle.BadID},
		"another's network":  {"b", func(*nic.Order) {}, heddle.NICNotGranted},
		"unknown network":    {"a", func(o *nic.Order) { o.Network = "wan" }, heddle.NICNotGranted},
		"now on another one": {"a", func(o *nic.Order) { o.Network = "lan" }, heddle.EndpointDiffers},
		"now another MAC":    {"a", func(o *nic.Order) { o.MAC = "0a:00:00:00:01:01" }, heddle.EndpointDiffers},
		"now another IP":     {"a", func(o *nic.Order) { o.IPs = []netip.Addr{netip.MustParseAddr("192.0.2.77")} }, heddle.EndpointDiffers},
	} {
		o := full
		c.change(&o)
		_, err := s.Plug(ctx, c.machine, o)
		refused(t, what, err, c.code)
	}
	refused(t, "unplug", s.Unplug(ctx, "a", "../x"), heddle.BadID)
	refused(t, "unplug", s.Unplug(ctx, "c", "x"), heddle.BadArgument)
	if got := w.took(); got != "" || w.state() != "a/x, a=tap1" {
		t.Error(got, w.state())
	}
}
