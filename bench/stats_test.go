package bench

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// The wanted values are R's: median, quantile(type=7), sd/mean.
func TestSummarise(t *testing.T) {
	s := Summarise([]float64{9, 2, 4, 7, 4, 5, 5, 4})
	near(t, "median", s.Median, 4.5)
	near(t, "q1", s.Q1, 4)
	near(t, "q3", s.Q3, 5.5)
	near(t, "min", s.Min, 2)
	near(t, "max", s.Max, 9)
	near(t, "cv", s.CV, 2.138089935299395/5)
	one := Summarise([]float64{3})
	near(t, "one", one.Median, 3)
	near(t, "cv of one", one.CV, 0)
	if !math.IsNaN(Median(nil)) {
		t.Error("the median of nothing is not NaN")
	}
}

func TestPairedRatioUsesTheSameRound(t *testing.T) {
	// The machine halves its speed from round to round; the ratio stays.
	a := map[int]float64{0: 50, 1: 25, 2: 12.5, 3: 99}
	b := map[int]float64{0: 100, 1: 50, 2: 25, 4: 1}
	r, ok := PairedRatio(a, b, 1)
	if !ok || r.N != 3 {
		t.Fatalf("got %+v, %v", r, ok)
	}
	near(t, "median", r.Median, 0.5)
	near(t, "low", r.Low, 0.5)
	near(t, "high", r.High, 0.5)
	if _, ok := PairedRatio(a, map[int]float64{0: 0, 9: 1}, 1); ok {
		t.Error("a ratio out of nothing")
	}
}

// For 0..9 resampled, the bootstrap distribution of the median is known: its
// 2.5 % and 97.5 % points lie at 1.5 and 7.5 within what 2,000 draws leave.
func TestBootstrapKnown(t *testing.T) {
	v := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	low, high := bootstrap(v, 7)
	if low < 1 || low > 2.5 || high < 6.5 || high > 8 {
		t.Errorf("interval [%v, %v]", low, high)
	}
	if l, h := bootstrap(v, 7); l != low || h != high {
		t.Error("the same seed gave another interval")
	}
}

// About 95 % of the intervals for samples of known median must contain it.
func TestBootstrapCovers(t *testing.T) {
	state := uint64(1)
	next := func() float64 { // a plain generator, independent of the one under test
		state = state*6364136223846793005 + 1442695040888963407
		return float64(state>>11) / (1 << 53)
	}
	covered, trials := 0, 200
	for i := range trials {
		v := make([]float64, 15)
		for j := range v {
			v[j] = next()
		}
		low, high := bootstrap(v, uint64(i))
		if low <= 0.5 && 0.5 <= high {
			covered++
		}
	}
	if covered < trials*88/100 || covered == trials {
		t.Errorf("%d of %d intervals hold the median", covered, trials)
	}
}
