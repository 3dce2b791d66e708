package voice

import (
	"math"
	"testing"
	"time"
)

const ms = time.Millisecond

// TestRating: values worked out by hand from the formulas of G.107, and the ends of the scale.
func TestRating(t *testing.T) {
	for _, x := range []struct {
		delay        time.Duration
		lost, r, mos float64
	}{{0, 0, 93.2, 4.41}, {100 * ms, 0, 93.2, 4.41}, {0, 0.01, 89.56, 4.33}, {200 * ms, 0, 90.2, 4.35}, {400 * ms, 0, 69.1, 3.55},
		{0, 1, 17.26, 1.18}, {2 * time.Second, 1, 0, 1}} {
		r := R(x.delay, x.lost)
		if math.Abs(r-x.r) > 0.1 || math.Abs(MOS(r)-x.mos) > 0.02 {
			t.Errorf("%v, %v lost: R %.2f, MOS %.3f; expected %.2f, %.2f", x.delay, x.lost, r, MOS(r), x.r, x.mos)
		}
	}
	for _, x := range []struct{ r, mos float64 }{{-1, 1}, {0, 1}, {3, 1}, {60, 3.1}, {100, 4.5}, {120, 4.5}} {
		if got := MOS(x.r); math.Abs(got-x.mos) > 1e-9 {
			t.Errorf("MOS(%v) is %v, expected %v", x.r, got, x.mos)
		}
	}
}

// TestLeg: what comes later than the buffer allows is lost.
func TestLeg(t *testing.T) {
	var l Leg
	for _, delay := range []time.Duration{30 * ms, 31 * ms, 85 * ms, 95 * ms, 3 * time.Second} {
		l.Arrive(delay)
	}
	if delay, lost := l.Heard(10); delay != 110*ms || lost != 0.7 {
		t.Errorf("%v, %v", delay, lost)
	}
	if delay, lost := new(Leg).Heard(7); delay != 0 || lost != 1 {
		t.Errorf("nothing came: %v, %v", delay, lost)
	}
	if delay, lost := new(Leg).Heard(0); delay != 0 || lost != 0 {
		t.Errorf("nothing was sent: %v, %v", delay, lost)
	}
}
