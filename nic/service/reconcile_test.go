package service

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// TestReconcile: devices without a port go, and ports stay.
func TestReconcile(t *testing.T) {
	w := newWorld()
	s := w.service()
	_, err := s.Plug(ctx, "a", order("kept"))
	must(t, err)
	_, err = w.Make(ctx, "a", order("port"), false)
	must(t, err)
	_, err = w.Make(ctx, "b", order("x"), false)
	must(t, err)
	w.kept = map[string]bool{"kept": true}
	w.devices["a"] = append(w.devices["a"], "x", "kept")
	w.devices["b"] = []string{"z"}
	w.took()
	must(t, s.reconcileAll(ctx))
	if got := w.state(); got != "a/kept, a/port, a=kept, a=tap1, b/x" {
		t.Error(got)
	}
	all, err := s.List(ctx, "a")
	if err != nil || len(all) != 2 || !all[0].Plugged || all[1].Plugged {
		t.Error(all, err)
	}
}

// TestReconcileFails: what cannot be done for one machine is done for the others; without a list of the ports no
// device goes.
func TestReconcileFails(t *testing.T) {
	w := newWorld()
	s := w.service()
	w.devices["a"], w.devices["b"] = []string{"x", "y"}, []string{"z"}
	w.fail("unplug x", errors.New("broken"))
	refused(t, "reconcile", s.reconcileAll(ctx), heddle.NotPlugged)
	if got := w.state(); got != "a=x" {
		t.Error(got)
	}
	w.fail("unplug x", nil)
	w.fail("list", errors.New("broken"))
	refused(t, "reconcile", s.reconcileAll(ctx), heddle.NotPlugged)
	if got := w.state(); got != "a=x" {
		t.Error(got)
	}
	w.fail("list", nil)
	w.fail("plugged", errors.New("broken"))
	refused(t, "reconcile", s.reconcileAll(ctx), heddle.NotPlugged)
	over, cancel := context.WithCancel(ctx)
	cancel()
	w.fail("plugged", nil)
	refused(t, "reconcile", s.reconcileAll(over), heddle.Waited)
}

// TestUnknown: while the ports of a VPC are not known, requests are refused of machines that may have NICs there, and answered of others. A device
// whose port is not known stays.
func TestUnknown(t *testing.T) {
	w := newWorld()
	c := w.config()
	c.VPCs = map[string]VPC{"red": {}}
	b := c.Machines["b"]
	b.Networks = []string{"lan", "red/lan"}
	c.Machines["b"] = b
	s := w.serviceOf(c)
	for _, machine := range []string{"a", "b"} {
		_, err := s.Plug(ctx, machine, order("x"))
		must(t, err)
	}
	left, err := w.Make(ctx, "a", nic.Order{Token: "left", Network: "red/lan"}, false) // of an earlier configuration
	must(t, err)
	w.kept = map[string]bool{left.TAP: true}
	w.devices["a"] = append(w.devices["a"], left.TAP, "stale")
	w.fail("list red", errors.New("broken"))
	more := order("y")
	for what, err := range map[string]error{"list": errOf(s.List(ctx, "b")), "describe": errOf(s.Describe(ctx, "b")), "plug": errOf(s.Plug(ctx, "b", more)),
		"again": errOf(s.Plug(ctx, "b", order("x"))), "unplug": s.Unplug(ctx, "b", "x"), "permit": s.Permit(ctx, "b", "x", "a", "z"), "reconcile": s.reconcile(ctx, s.guests["b"])} {
		refused(t, what, err, heddle.NotPlugged)
	}
	if all, err := s.List(ctx, "a"); err != nil || len(all) != 1 || !all[0].Plugged {
		t.Errorf("a has %+v, %v", all, err)
	}
	must(t, s.reconcile(ctx, s.guests["a"]))
	_, err = s.Plug(ctx, "a", more)
	must(t, err)
	must(t, s.Unplug(ctx, "a", "x"))
	if got := w.state(); got != "a/left, a/y, a="+left.TAP+", a=tap4, b/x, b=tap2" {
		t.Error(got)
	}
	w.fail("list red", nil)
	if all, err := s.List(ctx, "a"); err != nil || len(all) != 2 {
		t.Errorf("with the ports of all VPCs, a has %+v, %v", all, err)
	}
	must(t, s.Unplug(ctx, "a", "left"))
}

// TestKilled: a service that starts again takes away what a killed one left.
func TestKilled(t *testing.T) {
	w := newWorld()
	w.devices["a"] = []string{"x"}
	s := serve(t, w, "127.0.0.1")
	c := s.client(t, "a")
	for end := time.Now().Add(5 * time.Second); w.state() != ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(w.state())
		}
	}
	if _, err := c.Plug(ctx, order("x")); err != nil {
		t.Error(err)
	}
}
