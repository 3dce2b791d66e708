package bench

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Alpha is the level below which a difference counts as clear.
const Alpha = 0.05

// MannWhitney is the two-sided p-value of the rank test that two samples come from one distribution
// (Mann and Whitney 1947). It is exact for small samples, and 1 if either sample is empty, or all
// values are equal.
func MannWhitney(a, b []float64) float64 {
	sample := func(v []float64) *benchmath.Sample {
		return benchmath.NewSample(slices.Clone(v), &benchmath.Thresholds{CompareAlpha: Alpha})
	}
	return benchmath.AssumeNothing.Compare(sample(a), sample(b)).P
}

// Holm adjusts p-values for their number, so that the chance of a single wrong "clear" among all of
// them stays below the level (Holm 1979).
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	out, floor := make([]float64, len(p)), 0.0
	for rank, i := range order {
		floor = max(floor, min(1, p[i]*float64(len(p)-rank)))
		out[i] = floor
	}
	return out
}

// leastP is the smallest p-value that two samples of these sizes can have: all values of one are
// above all values of the other.
func leastP(n, m int) float64 {
	if n == 0 || m == 0 {
		return 1
	}
	ways := 1.0
	for i := 1; i <= n; i++ {
		ways *= float64(m+i) / float64(i)
	}
	return math.Min(1, 2/ways)
}

// comparisonKey names one test of a report: a cell's figure against the same figure
// of another mode.
type comparisonKey struct {
	cell   Cell
	mode   string
	figure string
}

// verdicts are the adjusted p-values of a report. Power is false if not even
// the largest difference could be called clear with so few rounds.
type verdicts struct {
	p     map[comparisonKey]float64
	power map[string]bool
}

// verdicts tests the headline of every cell against the control, and against
// the reference; each of the two is a family of its own.
func (r *Report) verdicts() verdicts {
	all := collectValues(r.Samples)
	v := verdicts{map[comparisonKey]float64{}, map[string]bool{}}
	for _, mode := range []string{Control, Reference} {
		var tests []comparisonKey
		var p []float64
		least := 1.0
		for _, c := range r.Cells {
			t := comparisonKey{c.Cell, mode, r.headline(c.Cell).Name}
			other := c.Cell
			other.Mode = mode
			a, b := all[c.Cell][t.figure], all[other][t.figure]
			if mode == c.Mode || len(a) == 0 || len(b) == 0 {
				continue
			}
			tests, p = append(tests, t), append(p, MannWhitney(a, b))
			least = min(least, leastP(len(a), len(b)))
		}
		v.power[mode] = len(p) > 0 && least*float64(len(p)) < Alpha
		for i, q := range Holm(p) {
			v.p[tests[i]] = q
		}
	}
	return v
}

// collectValues are the counted rounds' readings by cell and figure.
func collectValues(samples []Sample) map[Cell]map[string][]float64 {
	all := map[Cell]map[string][]float64{}
	for cell, figures := range collect(samples) {
		all[cell] = map[string][]float64{}
		for name, byRound := range figures {
			for _, round := range sortedKeys(byRound) {
				all[cell][name] = append(all[cell][name], byRound[round])
			}
		}
	}
	return all
}
