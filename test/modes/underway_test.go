package modes_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// TestStuckNetwork: who wants the addresses of a network that does not come to an end of
// being made is told so after a while; others are made meanwhile, and it is made itself
// when the other one has failed.
func TestStuckNetwork(t *testing.T) {
	w := world.New(t)
	begun, release := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	w.TripAt(func(step string) error {
		if step == "ledger network" && once.CompareAndSwap(false, true) {
			close(begun)
			<-release
			return errors.New("nothing comes of it")
		}
		return nil
	})
	stuck := w.Plan("stuck", "bridge")
	done := make(chan error, 1)
	go func() {
		_, _, err := w.CreateNetwork(stuck, false)
		done <- err
	}()
	<-begun
	w.Network(t, "other", "bridge")
	rival := stuck
	rival.Name = "rival"
	_, _, err := w.CreateNetwork(rival, false)
	if !errors.Is(err, heddle.Waited.Sentinel()) || !strings.Contains(err.Error(), "stuck") {
		t.Errorf("beside one that is being made: %v", err)
	}
	close(release)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "nothing comes of it") {
		t.Error(err)
	}
	if _, _, err := w.CreateNetwork(rival, false); err != nil {
		t.Error(err)
	}
}
