package world

import (
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/vm"
)

// Slowness is the factor for time limits if the processor is emulated.
var Slowness = slowness()

func slowness() time.Duration {
	if vm.InGuest() {
		return 10
	}
	return 1
}

var (
	// Patience is how long an answer may take. On a machine that runs all tests at the same
	// time, answers are sometimes seconds late.
	Patience = 10 * time.Second * min(Slowness, 3)
	// Refusal is how long to wait for an answer that must not come.
	Refusal = 200 * time.Millisecond * min(Slowness, 4)
	// Quiet is how long a frame may take to arrive.
	Quiet = 30 * time.Millisecond * Slowness
	// RepairTime is how long the agent may take to restore an object, on a machine that runs
	// all tests at the same time. A test of the agent's watching turns its periodic check off
	// (Watching).
	RepairTime = time.Minute * min(Slowness, 3)
)

// Soon is Within with Patience as its limit.
func Soon(t testing.TB, what string, try func() error) {
	t.Helper()
	Within(t, Patience, what, try)
}

// Within waits until try succeeds, and returns how long that took. It fails the test if try has not succeeded
// when the limit is over. What succeeds later is no failure: the machine may have stood still.
func Within(t testing.TB, limit time.Duration, what string, try func() error) time.Duration {
	t.Helper()
	took, err := poll.Until(limit, pause, try)
	if err != nil {
		t.Errorf("%s: not within %v (waited %v): %v", what, limit, took.Round(time.Millisecond), err)
	}
	return took
}

// pause is between two tries.
var pause = 5 * time.Millisecond * Slowness
