// Package impair is what may happen to the frames of a wire: the words for it, the decisions by a seed, and the queue
// in which frames wait. A relay carries it out; where its frames come from is its owner's matter.
package impair

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
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

// Check refuses what no relay does.
func (i Impairment) Check() error {
	for _, f := range []struct {
		what  string
		share float64
	}{{"loss", i.Loss}, {"duplicate", i.Duplicate}, {"reorder", i.Reorder}, {"corrupt", i.Corrupt}} {
		if !(f.share >= 0 && f.share <= 1) { // NaN is refused, too
			return refuse("set "+f.what, fmt.Sprint(f.share), "it is no share of the frames", "give 0% to 100%")
		}
	}
	for _, f := range []struct {
		what string
		time time.Duration
	}{{"delay", i.Delay}, {"jitter", i.Jitter}} {
		if f.time < 0 || f.time > maxDelay {
			return refuse("set "+f.what, f.time.String(), "a relay does not delay frames so", fmt.Sprintf("give 0 to %v", maxDelay))
		}
	}
	if i.Jitter > i.Delay {
		return refuse("set jitter", i.Jitter.String(), "it is larger than the delay", "give a delay of at least the jitter")
	}
	return nil
}

// String writes what is impaired, in the words of a lab's faults; "" if nothing is. The seed is not in it.
func (i Impairment) String() string {
	var all []string
	add := func(given bool, words string) {
		if given {
			all = append(all, words)
		}
	}
	add(i.Delay != 0, "delay "+i.Delay.String())
	add(i.Jitter != 0, "jitter "+i.Jitter.String())
	add(i.Loss != 0, "loss "+FormatShare(i.Loss))
	add(i.Duplicate != 0, "duplicate "+FormatShare(i.Duplicate))
	add(i.Reorder != 0, "reorder "+FormatShare(i.Reorder))
	add(i.Corrupt != 0, "corrupt "+FormatShare(i.Corrupt))
	add(i.SpoilChecksums, "spoil-checksums")
	return heddle.List(all)
}

// ParseShare reads a share of frames, such as 5% or 0.05.
func ParseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, refuse("read share of frames", strconv.Quote(text), "it is not a number", "give a share such as 5% or 0.05")
	}
	if percent {
		v /= 100
	}
	return v, nil
}

// FormatShare writes a share as ParseShare reads it.
func FormatShare(share float64) string { return strconv.FormatFloat(100*share, 'g', 4, 64) + "%" }

func refuse(op, object, cause, remedy string) error {
	return heddle.Errorf(heddle.BadArgument, op, object, cause, remedy)
}
