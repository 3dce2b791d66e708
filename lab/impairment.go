package lab

import (
	"fmt"
	"time"
)

// Impairment says what a relay does to the frames of one direction. With the same seed it
// makes the same decisions about the first, second, … frame.
type Impairment struct {
	// Loss, Duplicate, Reorder and Corrupt are shares of the frames, 0 to 1. A
	// reordered frame comes ReorderDelay later than it would have. A corrupted
	// frame has one bit flipped, somewhere after the Ethernet header.
	Loss      float64 `json:"loss,omitempty"`
	Duplicate float64 `json:"duplicate,omitempty"`
	Reorder   float64 `json:"reorder,omitempty"`
	Corrupt   float64 `json:"corrupt,omitempty"`
	// Delay of every frame, more or less by up to Jitter. Jitter does not change the order.
	Delay  time.Duration `json:"delay,omitempty"`
	Jitter time.Duration `json:"jitter,omitempty"`
	Seed   uint64        `json:"seed,omitempty"`
	// SpoilChecksums passes frames whose transport checksum the sender left to its NIC
	// without computing it, like a NIC with broken checksum offload. It is about frames that
	// the host sends.
	SpoilChecksums bool `json:"spoilChecksums,omitempty"`
}

// ReorderDelay is how much later a reordered frame comes.
const ReorderDelay = 50 * time.Millisecond

const maxDelay = 10 * time.Second

func (i Impairment) check() error {
	for what, share := range map[string]float64{"loss": i.Loss, "duplicate": i.Duplicate, "reorder": i.Reorder, "corrupt": i.Corrupt} {
		if !(share >= 0 && share <= 1) { // NaN is refused, too
			return refuse("set "+what, share, "it is no share of the frames", "give 0% to 100%")
		}
	}
	for what, d := range map[string]time.Duration{"delay": i.Delay, "jitter": i.Jitter} {
		if d < 0 || d > maxDelay {
			return refuse("set "+what, d, "a relay does not delay frames so", fmt.Sprintf("give 0 to %v", maxDelay))
		}
	}
	if i.Jitter > i.Delay {
		return refuse("set jitter", i.Jitter, "it is larger than the delay", "give a delay of at least the jitter")
	}
	return nil
}

// Direction is one of the two directions of a wire, or both.
type Direction string

// Directions of a wire, as its host sees it.
const (
	Both Direction = "both"
	Out  Direction = "out" // what the host sends
	In   Direction = "in"  // what it receives
)

func (d Direction) check() error {
	if d != Both && d != Out && d != In {
		return refuse("set direction", string(d), "a wire has no such direction", "choose both, out or in")
	}
	return nil
}

// Count counts what a relay did in one direction.
type Count struct {
	Frames     uint64 `json:"frames"`
	Lost       uint64 `json:"lost"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Corrupted  uint64 `json:"corrupted"`
	// Spoiled frames passed with a wrong checksum, Overflown ones found the relay's queue
	// full, Refused ones were refused by the kernel.
	Spoiled   uint64 `json:"spoiled"`
	Overflown uint64 `json:"overflown"`
	Refused   uint64 `json:"refused"`
}
