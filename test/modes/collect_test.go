package modes_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// TestCollectBeside: while an owner's endpoints are collected, another container of the
// owner comes and goes, and one comes anew whose endpoint is being collected: none of
// them waits for the collection of another, and what came stays.
func TestCollectBeside(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	owned := func(r *heddle.AttachRequest) { r.Owner = "cni/net" }
	w.Pod(t, "old", "net", owned)
	again := w.Pod(t, "renewed", "net", owned) // in the order of names, it is collected after the first
	begun, release := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	w.TripAt(func(step string) error {
		if step == "ledger intent detach" && once.CompareAndSwap(false, true) {
			close(begun)
			<-release
		}
		return nil
	})
	done := make(chan error, 1)
	go func() {
		_, err := w.GC(context.Background(), "cni/net", nil)
		done <- err
	}()
	<-begun
	came := make(chan struct{})
	go func() {
		defer close(came)
		w.Pod(t, "new", "net", owned)
		w.Pod(t, "short", "net", owned).Leave(t)
		again.Leave(t)
		w.PodIn(t, again.Netns, "net", owned)
	}()
	select {
	case <-came:
	case <-time.After(world.RepairTime):
		t.Error("attach and detach wait for the end of a collection")
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-came
	left := ""
	for _, e := range w.Endpoints() {
		left += e.ID.Container + " "
	}
	if left != "new renewed " {
		t.Errorf("left: %s", left)
	}
	w.AuditEmpty(t)
}
