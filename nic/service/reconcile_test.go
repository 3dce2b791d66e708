package service

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
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
