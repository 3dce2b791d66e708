package machine

import (
	"sync"
	"time"
)

// Clock is by how much the clock of another machine is ahead of this one's, as far as it is known.
type Clock struct {
	// Ahead is negative if the other clock is behind. In nanoseconds.
	Ahead time.Duration `json:"ahead"`
	// Within is how wrong that is at most: half of the shortest round trip. In nanoseconds.
	Within time.Duration `json:"within"`
}

// sample is one question for the time, and its answer: when it was asked, by our clock; when it came and when it was answered, by the other
// one; when the answer came. All are since the begin of the crowd, each by its own clock.
type sample struct{ asked, came, went, back time.Duration }

// trip is how long question and answer were on their way.
func (s sample) trip() time.Duration { return (s.back - s.asked) - (s.went - s.came) }

// clock is what a sample says, if both ways took as long (RFC 5905, clause 8). However they differ, the error is half of the trip at most.
func (s sample) clock() Clock {
	return Clock{((s.came - s.asked) + (s.went - s.back)) / 2, max(0, s.trip()) / 2}
}

const (
	// drift is by how much two clocks may go apart, as a share of time: 100 in a million (RFC 5905 takes 15, PHI; crystals have 100).
	drift = 100e-6
	// kept is how many samples are looked at.
	kept = 64
)

// watch has the latest samples of another machine's clock. Its zero value is ready.
type watch struct {
	mu      sync.Mutex
	samples []sample
	// largest is the clock that was most apart, of all that were noted.
	largest Clock
}

// add takes a sample.
func (w *watch) add(s sample) {
	if s.trip() < 0 || s.back < s.asked { // a clock was set meanwhile
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.samples = append(w.samples, s); len(w.samples) > kept {
		w.samples = w.samples[1:]
	}
}

// note keeps what is known at a time, if the clocks are more apart than ever before.
func (w *watch) note(now time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if best := w.best(now); abs(best.Ahead) > abs(w.largest.Ahead) || w.largest == (Clock{}) {
		w.largest = best
	}
}

// best is what is known at a time: of the sample with the shortest trip, where what is older counts as longer.
func (w *watch) best(now time.Duration) (best Clock) {
	for i, s := range w.samples {
		c := s.clock()
		c.Within += time.Duration(drift * float64(max(0, now-s.back)))
		if i == 0 || c.Within <= best.Within {
			best = c
		}
	}
	return best
}

// now is what is known now.
func (w *watch) now(now time.Duration) Clock {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.best(now)
}

// most is the clock that was most apart.
func (w *watch) most() Clock {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.largest
}

func abs(d time.Duration) time.Duration { return max(d, -d) }
