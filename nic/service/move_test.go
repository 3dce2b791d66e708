package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// over is b's order for the NIC of a that b will call y.
func over() nic.Order { return nic.Order{Token: "y", Network: "lan", From: "a"} }

// permitted is a service whose machine a has NIC x, which b may take over as y.
func permitted(t *testing.T) (*world, *Service, nic.Card) {
	t.Helper()
	w := newWorld()
	s := w.service()
	card, err := s.Plug(ctx, "a", order("x"))
	must(t, err)
	must(t, s.Permit(ctx, "a", "x", "b", "y"))
	w.took()
	return w, s, card
}

// cards are the NICs that a machine is told of.
func cards(t *testing.T, s *Service, machine string) string {
	t.Helper()
	all, err := s.List(ctx, machine)
	must(t, err)
	var text []string
	for _, c := range all {
		text = append(text, fmt.Sprintf("%s from=%s to=%s taken=%v plugged=%v", c.Token, c.From, c.To, c.Taken, c.Plugged))
	}
	return strings.Join(text, "; ")
}

// TestMove: the NIC leaves one machine before it is in the other one, keeps its MAC address, addresses and TAP, and is the first machine's
// until the other one confirms.
func TestMove(t *testing.T) {
	w, s, was := permitted(t)
	offer, err := s.Describe(ctx, "b")
	if err != nil || len(offer.Permitted) != 1 || fmt.Sprint(offer.Permitted[0]) != fmt.Sprint(nic.Permitted{From: "a", Token: "y", Network: "lan", MAC: was.MAC, Addrs: was.Addrs}) {
		t.Errorf("b is offered %+v, %v", offer, err)
	}
	if got := cards(t, s, "a"); got != "x from= to=b taken=false plugged=true" {
		t.Error(got)
	}
	card, err := s.Plug(ctx, "b", over())
	must(t, err)
	if got := w.took(); got != "keep a/x>b/y!, unplug tap1, open tap1, plug tap1" {
		t.Error(got)
	}
	if card.MAC != was.MAC || fmt.Sprint(card.Addrs) != fmt.Sprint(was.Addrs) || card.Token != "y" || card.From != "a" || !card.Plugged || card.Dark <= 0 {
		t.Errorf("b has %+v", card)
	}
	if a, b := cards(t, s, "a"), cards(t, s, "b"); a != "x from= to=b taken=true plugged=false" || b != "y from=a to= taken=false plugged=true" {
		t.Error(a, "; ", b)
	}
	again, err := s.Plug(ctx, "b", over())
	if err != nil || w.took() != "" || !again.Plugged {
		t.Error("asked again: ", again, err)
	}
	_, err = s.Plug(ctx, "a", order("x"))
	refused(t, "plugged in where it was", err, heddle.NICNotGranted)
	must(t, s.Confirm(ctx, "b", "y"))
	must(t, s.Confirm(ctx, "b", "y"))
	if a, b := cards(t, s, "a"), cards(t, s, "b"); a != "" || b != "y from= to= taken=false plugged=true" || w.took() != "keep b/y" {
		t.Error(a, "; ", b)
	}
	must(t, s.Unplug(ctx, "a", "x"))
	if got := w.state(); got != "b/y, b=tap1" {
		t.Error("the machine that had it ended it: ", got)
	}
	_, err = s.Plug(ctx, "a", order("x")) // another NIC
	must(t, err)
	must(t, s.Unplug(ctx, "b", "y"))
	if got := w.state(); got != "a/x, a=tap2" {
		t.Error(got)
	}
}

// TestMoveUndone: what fails before the confirmation gives the NIC back.
func TestMoveUndone(t *testing.T) {
	for what, c := range map[string]struct {
		broken string
		state  string
		code   heddle.Code
	}{
		"first machine does not let go": {"unplug tap1", "a/x>b/y!, a=tap1", heddle.UndoFailed}, // nor can it be told from the other one's device
		"no TAP":                        {"open tap1", "a/x>b/y", heddle.NotPlugged},
		"second machine does not take":  {"plug tap1", "a/x>b/y", heddle.NotPlugged},
		"not recorded":                  {"keep a/x>b/y!", "a/x>b/y, a=tap1", heddle.NotPlugged},
		"no list":                       {"list", "a/x>b/y, a=tap1", heddle.NotPlugged},
		"no answer":                     {"slots", "a/x>b/y, a=tap1", heddle.NotPlugged},
	} {
		w, s, _ := permitted(t)
		w.fail(c.broken, errors.New("broken"))
		_, err := s.Plug(ctx, "b", over())
		refused(t, what, err, c.code)
		if got := w.state(); got != c.state {
			t.Errorf("%s: %s", what, got)
		}
		w.fail(c.broken, nil)
		_, err = s.Plug(ctx, "b", over())
		must(t, err)
		must(t, s.Unplug(ctx, "b", "y")) // b cannot use it
		if got := w.state(); got != "a/x>b/y" {
			t.Errorf("%s, and given back: %s", what, got)
		}
		_, err = s.Plug(ctx, "a", order("x"))
		must(t, err)
		if got := cards(t, s, "a"); got != "x from= to=b taken=false plugged=true" {
			t.Error(what, got)
		}
	}
}

// TestMoveAway: a machine that does not run has no NIC any more. One that runs and does not answer keeps it.
func TestMoveAway(t *testing.T) {
	away := heddle.Errorf(heddle.MachineAway, "connect to machine", "a", "refused", "start it")
	w, s, _ := permitted(t)
	w.fail("unplug tap1", away)
	_, err := s.Plug(ctx, "b", over())
	refused(t, "its device is there", err, heddle.NotPlugged)
	if got := w.state(); got != "a/x>b/y, a=tap1" {
		t.Error(got)
	}
	w.devices["a"] = nil
	_, err = s.Plug(ctx, "b", over())
	must(t, err)
	w.devices["b"] = nil // now b ends
	must(t, s.Permit(ctx, "a", "x", "", ""))
	if got := w.state(); got != "a/x" {
		t.Error("called back from a machine that has ended: ", got)
	}
}

// TestCalledBack: the machine that had the NIC may have it back until the other one has confirmed.
func TestCalledBack(t *testing.T) {
	w, s, _ := permitted(t)
	_, err := s.Plug(ctx, "b", over())
	must(t, err)
	refused(t, "to a third", s.Permit(ctx, "a", "x", "b", "z"), heddle.NICNotGranted)
	must(t, s.Permit(ctx, "a", "x", "b", "y"))
	must(t, s.Permit(ctx, "a", "x", "", ""))
	if got := w.state(); got != "a/x" {
		t.Error(got)
	}
	refused(t, "confirm", s.Confirm(ctx, "b", "y"), heddle.NICNotGranted)
	_, err = s.Plug(ctx, "b", over())
	refused(t, "take", err, heddle.NICNotGranted)
	must(t, s.Permit(ctx, "a", "none", "", ""))
}

// TestLeft: a NIC that its machine has let go of waits for the other one, and no longer.
func TestLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s, _ := permitted(t)
		must(t, s.Unplug(ctx, "a", "x"))
		must(t, s.Unplug(ctx, "a", "x"))
		must(t, s.reconcileAll(ctx))
		if got := w.state(); got != "a/x>b/y left" || cards(t, s, "a") != "" {
			t.Error(got)
		}
		_, err := s.Plug(ctx, "b", over())
		must(t, err)
		time.Sleep(PermitTime)
		must(t, s.reconcileAll(ctx))
		must(t, s.Confirm(ctx, "b", "y"))
		if got := w.state(); got != "b/y, b=tap1" {
			t.Error(got)
		}
		w, s, _ = permitted(t)
		must(t, s.Unplug(ctx, "a", "x"))
		time.Sleep(PermitTime)
		_, err = s.Plug(ctx, "b", over())
		refused(t, "too late", err, heddle.NICNotGranted)
		must(t, s.reconcileAll(ctx))
		if got := w.state(); got != "" {
			t.Error(got)
		}
		w, s, _ = permitted(t) // let go of while the other one has it, which gives it back too late
		_, err = s.Plug(ctx, "b", over())
		must(t, err)
		must(t, s.Unplug(ctx, "a", "x"))
		time.Sleep(PermitTime)
		must(t, s.Unplug(ctx, "b", "y"))
		if got := w.state(); got != "" {
			t.Error(got)
		}
		w, s, _ = permitted(t) // wanted again
		must(t, s.Unplug(ctx, "a", "x"))
		_, err = s.Plug(ctx, "a", order("x"))
		must(t, err)
		if got := w.state(); got != "a/x, a=tap1" {
			t.Error(got)
		}
	})
}

// TestMoveKept: what the first machine orders anew does not take the NIC from the one that has taken it over, whatever it orders.
func TestMoveKept(t *testing.T) {
	w, s, _ := permitted(t)
	must(t, errOf(s.Plug(ctx, "b", over())))
	must(t, s.Unplug(ctx, "a", "x"))
	for _, o := range []nic.Order{order("x"), {Token: "x", Network: "lan", MAC: "0a:00:00:00:01:01"}, {Token: "x", Network: "dmz"}} {
		refused(t, "plug", errOf(s.Plug(ctx, "a", o)), heddle.NICNotGranted)
	}
	if got := w.state(); got != "a/x>b/y! left, b=tap1" {
		t.Error(got)
	}
}

// TestWrongMachine: a device that stayed in a machine which did not answer goes when it answers again.
func TestWrongMachine(t *testing.T) {
	w, s, _ := permitted(t)
	must(t, errOf(s.Plug(ctx, "b", over())))
	away := heddle.Errorf(heddle.MachineAway, "connect to machine", "b", "no socket", "")
	w.fail("unplug tap1", away)
	must(t, s.Permit(ctx, "a", "x", "", ""))
	refused(t, "plug", errOf(s.Plug(ctx, "a", order("x"))), heddle.UndoFailed)
	w.fail("unplug tap1", nil)
	must(t, s.reconcileAll(ctx))
	must(t, errOf(s.Plug(ctx, "a", order("x"))))
	if got := w.state(); got != "a/x, a=tap1" {
		t.Error(got)
	}
}

// TestForsaken: a port goes that its machine has let go of, and whose NIC the other machine does not have any more.
func TestForsaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			left, has bool
			state     string
		}{{true, false, ""}, {true, true, "a/x>b/y! left, b=tap1"}, {false, false, "a/x>b/y!"}} {
			w, s, _ := permitted(t)
			must(t, errOf(s.Plug(ctx, "b", over())))
			if c.left {
				must(t, s.Unplug(ctx, "a", "x"))
			}
			if !c.has {
				w.devices["b"] = nil
			}
			before := w.state()
			must(t, s.reconcileAll(ctx))
			if got := w.state(); got != before {
				t.Errorf("%+v: before its time: %s", c, got)
			}
			time.Sleep(PermitTime)
			must(t, s.reconcileAll(ctx))
			if got := w.state(); got != c.state {
				t.Errorf("%+v: %s", c, got)
			}
		}
	})
}

// TestMoveRefused: nobody takes what is not permitted to him, and nobody has more than he may have.
func TestMoveRefused(t *testing.T) {
	w, s, _ := permitted(t)
	before := w.state()
	for what, o := range map[string]nic.Order{
		"another token":   {Token: "x", Network: "lan", From: "a"},
		"from another":    {Token: "y", Network: "lan", From: "b"},
		"from nobody":     {Token: "y", Network: "lan", From: "c"},
		"another network": {Token: "y", Network: "dmz", From: "a"},
		"malformed":       {Token: "y", Network: "lan", From: "../a"},
		"another MAC":     {Token: "y", Network: "lan", From: "a", MAC: "0a:00:00:00:01:01"},
		"another address": {Token: "y", Network: "lan", From: "a", IPs: []netip.Addr{netip.MustParseAddr("192.0.2.77")}},
	} {
		if _, err := s.Plug(ctx, "b", o); err == nil {
			t.Error(what, ": taken")
		}
		if got := w.state(); got != before {
			t.Errorf("%s: %s", what, got)
		}
	}
	refused(t, "confirm", s.Confirm(ctx, "b", "y"), heddle.NICNotGranted)
	for what, to := range map[string]string{"itself": "a", "nobody": "c"} {
		refused(t, what, s.Permit(ctx, "a", "x", to, "y"), heddle.NICNotGranted)
	}
	refused(t, "no NIC", s.Permit(ctx, "b", "x", "a", "y"), heddle.NICNotGranted)
	one := 1
	s.guests["b"].Most = &one
	_, err := s.Plug(ctx, "b", order("own"))
	must(t, err)
	_, err = s.Plug(ctx, "b", over())
	refused(t, "too many", err, heddle.NoSlot)
	s.guests["b"].Most, w.slots = nil, 1
	_, err = s.Plug(ctx, "b", over())
	refused(t, "no slot", err, heddle.NoSlot)
	if got := w.state(); got != before+", b/own, b=tap2" {
		t.Error(got)
	}
	// b's network is not a's
	_, err = s.Plug(ctx, "a", nic.Order{Token: "d", Network: "dmz"})
	must(t, err)
	refused(t, "network", s.Permit(ctx, "a", "d", "b", "y"), heddle.NICNotGranted)
}

// TestMoveBeside: requests of both machines about one NIC, at the same time, leave it with one of them.
func TestMoveBeside(t *testing.T) {
	for i := range 50 {
		w, s, _ := permitted(t)
		end := func() error { return s.Confirm(ctx, "b", "y") }
		if i%2 == 0 {
			end = func() error { return s.Unplug(ctx, "b", "y") }
		}
		w.wait = func(string) { time.Sleep(time.Millisecond) }
		var all sync.WaitGroup
		for _, f := range []func() error{
			func() error { return errOf(s.Plug(ctx, "b", over())) },
			func() error { return errOf(s.Plug(ctx, "a", order("x"))) },
			func() error { return s.Permit(ctx, "a", "x", "", "") },
			end,
			func() error { return s.reconcileAll(context.Background()) },
		} {
			all.Go(func() { f() })
		}
		all.Wait()
		in := 0
		for _, ids := range w.devices {
			for _, id := range ids {
				if id == "tap1" {
					in++
				}
			}
		}
		if w.ports["tap1"].Machine == "" || in > 1 || len(s.held.byID) != 0 { // a may have ordered another one when b had confirmed
			t.Fatal(w.state())
		}
	}
}
