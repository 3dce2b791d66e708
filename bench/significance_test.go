package bench

import (
	"math"
	"testing"
)

// The critical values of U at 5 %, two-sided, from Mann and Whitney's table as
// printed in textbooks: the largest U that is still significant.
func TestMannWhitneyAgainstTables(t *testing.T) {
	for n, critical := range map[[2]int]int{{4, 4}: 0, {5, 5}: 2, {6, 6}: 5, {7, 7}: 8, {8, 8}: 13, {10, 10}: 23, {5, 8}: 6, {4, 10}: 5, {12, 15}: 49, {20, 20}: 127} {
		for u, significant := range map[int]bool{critical: true, critical + 1: false} {
			a, b := samplesWithU(n[0], n[1], u)
			if p := MannWhitney(a, b); (p <= Alpha) != significant {
				t.Errorf("n=%v U=%d: p=%.4f, want significant %v", n, u, p, significant)
			}
		}
	}
	near(t, "apart", MannWhitney([]float64{1, 2, 3}, []float64{4, 5, 6}), 0.1)
	near(t, "equal", MannWhitney([]float64{1, 1}, []float64{1, 1}), 1)
	near(t, "empty", MannWhitney(nil, []float64{1, 1}), 1)
	for n := 1; n < 12; n++ {
		a, b := samplesWithU(n, n+1, 0)
		near(t, "least", leastP(n, n+1), MannWhitney(a, b))
	}
}

// samplesWithU makes two samples without ties in which u pairs have the first
// above the second.
func samplesWithU(n, m, u int) (a, b []float64) {
	for j := range m {
		b = append(b, float64(10*j))
	}
	for i := range n {
		below := min(m, u)
		u -= below
		a = append(a, float64(10*below)-5+float64(i)/100)
	}
	return a, b
}

// Holm's own method on the p-values of a common worked example.
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("%d: %v, want %v", i, got[i], want)
		}
	}
	if got := Holm([]float64{0.9, 0.8}); got[0] != 1 || got[1] != 1 {
		t.Error(got)
	}
}

func TestVerdictsNeedRounds(t *testing.T) {
	r := goldenReport()
	v := r.verdicts()
	if v.power[Control] || v.power[Reference] {
		t.Error("three rounds cannot show a difference")
	}
	if len(v.p) == 0 {
		t.Error("no test at all")
	}
}
