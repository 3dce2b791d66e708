package lab

import (
	"fmt"
	"time"
)

// Impairment is what a relay does to the frames that pass it in one direction.
// The same seed makes the same decisions about the first, second, … frame.
type Impairment struct {
	// Loss, Duplicate, Reorder and Corrupt are shares of the frames, 0 to 1. A
	// reordered frame comes ReorderDelay later than it would have; a corrupted
	// one has one bit flipped, somewhere behind the Ethernet header.
	Loss      float64 `json:"loss,omitempty"`
	Duplicate float64 `json:"duplicate,omitempty"`
	Reorder   float64 `json:"reorder,omitempty"`
	Corrupt   float64 `json:"corrupt,omitempty"`
	// Delay of every frame, give or take up to Jitter. Jitter alone changes no order.
	Delay  time.Duration `json:"delay,omitempty"`
	Jitter time.Duration `json:"jitter,omitempty"`
	Seed   uint64        `json:"seed,omitempty"`
	// SpoilChecksums lets frames pass whose transport checksum the sender left to its NIC,
	// and does not compute it: like a NIC that promises this and does not do it. It
	// concerns what the host sends.
	SpoilChecksums bool `json:"spoilChecksums,omitempty"`
}

// ReorderDelay is how much later a reordered frame comes.
const ReorderDelay = 50 * time.Millisecond

const maxDelay = 10 * time.Second

func (i Impairment) check() error {
	for what, share := range map[string]float64{"loss": i.Loss, "duplicate": i.Duplicate, "reorder": i.Reorder, "corrupt": i.Corrupt} {
		if !(share >= 0 && share <= 1) { // not a number is neither
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

// Direction is one of the two ways of a wire, or both.
type Direction string

// Directions of a wire, as its host sees it.
const (
	Both Direction = "both"
	Out  Direction = "out" // what the host sends
	In   Direction = "in"  // what comes to it
)

func (d Direction) check() error {
	if d != Both && d != Out && d != In {
		return refuse("set direction", string(d), "a wire has no such direction", "choose both, out or in")
	}
	return nil
}

// Count is what a relay did in one direction.
type Count struct {
	Frames     uint64 `json:"frames"`
	Lost       uint64 `json:"lost"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Corrupted  uint64 `json:"corrupted"`
	// Spoiled frames passed with an unfinished checksum, Overflown ones found
	// the relay's queue full, Refused ones were not taken by the kernel.
	Spoiled   uint64 `json:"spoiled"`
	Overflown uint64 `json:"overflown"`
	Refused   uint64 `json:"refused"`
}
