package draw

import (
	"math"
	"testing"
)

// TestMath: our functions agree with those of package math to a few units of the last place.
func TestMath(t *testing.T) {
	within := func(tolerance float64, what string, x, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > tolerance*math.Abs(want) {
			t.Errorf("%s of %v is %v, not %v", what, x, got, want)
		}
	}
	s := NewStream(3)
	for range 10_000 {
		x := math.Ldexp(s.Unit(), s.Below(200)-100)
		within(1e-14, "log", x, log(x), math.Log(x))
		y := float64(s.Unit()*1400) - 700
		within(1e-14, "exp", y, exp(y), math.Exp(y))
		p := s.Unit()
		if z := normalQuantile(p); math.Abs(0.5*math.Erfc(-z/math.Sqrt2)-p) > 1e-14 {
			t.Errorf("the normal quantile of %v is %v", p, z)
		}
	}
	for _, p := range []float64{1e-300, 1e-20, 1e-10, 1e-5} {
		within(1e-12, "normal quantile", p, 0.5*math.Erfc(-normalQuantile(p)/math.Sqrt2), p)
	}
	for _, x := range []float64{0, math.Inf(1), math.Inf(-1), math.NaN(), -1} {
		if got, want := log(x), math.Log(x); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("log of %v is %v, not %v", x, got, want)
		}
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 1e-15 || math.IsNaN(got) != math.IsNaN(want) {
			t.Errorf("exp of %v is %v, not %v", x, got, want)
		}
	}
	if exp(710) != math.Inf(1) || exp(-746) != 0 {
		t.Error("exp has no bounds")
	}
}
