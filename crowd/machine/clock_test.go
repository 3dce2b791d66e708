package machine

import (
	"math/rand/v2"
	"testing"
	"time"
)

// draw draws a question for the time of a clock that is so much ahead, over ways that take so long at least, at a time.
func draw(r *rand.Rand, at, ahead, there, back time.Duration) sample {
	queue := func() time.Duration { return time.Duration(r.ExpFloat64() * float64(2*time.Millisecond)) }
	came := at + there + queue()
	went := came + 50*time.Microsecond
	return sample{at, came + ahead, went + ahead, went + back + queue()}
}

// TestClock: of a clock that is ahead or behind, and drifts, it is known by how much, to within what it says; with ways that differ,
// to half of the difference.
func TestClock(t *testing.T) {
	for _, c := range []struct{ ahead, there, back, wrong time.Duration }{
		{0, time.Millisecond, time.Millisecond, 150 * time.Microsecond},
		{3 * time.Second, time.Millisecond, time.Millisecond, 150 * time.Microsecond},
		{-250 * time.Millisecond, 20 * time.Millisecond, 20 * time.Millisecond, 150 * time.Microsecond},
		{40 * time.Millisecond, 30 * time.Millisecond, 10 * time.Millisecond, 10*time.Millisecond + 150*time.Microsecond},
	} {
		r, w := rand.New(rand.NewPCG(1, 2)), watch{}
		var ahead, at time.Duration
		for i := range 400 {
			at = time.Duration(i/askTimes)*askEvery + time.Duration(i%askTimes)*60*time.Millisecond
			ahead = c.ahead + at/20000 // 50 in a million
			w.add(draw(r, at, ahead, c.there, c.back))
			w.note(at)
			if got := w.now(at); i > kept && abs(got.Ahead-ahead) > got.Within {
				t.Errorf("%+v, at %s: %+v, which is not within itself", c, at, got)
			}
		}
		if got := w.now(at); abs(got.Ahead-ahead) > c.wrong {
			t.Errorf("%+v: %+v, after %s, and it is %s", c, got, at, ahead)
		}
		if got := w.most(); c.ahead != 0 && abs(got.Ahead) < abs(c.ahead)-c.wrong {
			t.Errorf("%+v: %+v at most", c, got)
		}
	}
}

// TestClockSet: a sample during which a clock was set says nothing.
func TestClockSet(t *testing.T) {
	var w watch
	w.add(sample{0, 10, 5 * time.Second, 20})
	w.add(sample{20, 10, 10, 0})
	if w.note(0); w.now(0) != (Clock{}) || w.most() != (Clock{}) {
		t.Errorf("%+v, %+v", w.now(0), w.most())
	}
}
