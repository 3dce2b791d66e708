package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Change is a figure in two runs, first A, then B.
type Change struct {
	// Better says which values are: HigherIsBetter or LowerIsBetter.
	Better string  `json:"better"`
	A      float64 `json:"a"` // median
	B      float64 `json:"b"`
	// Ratio is B divided by A, Low and High bound its bootstrap 95 % interval. They are 0 where A is.
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// P is the p-value of Mann and Whitney's test, adjusted by Holm's method.
	P float64 `json:"p"`
	// Verdict is "better", "worse", "no clear change" or "too few rounds".
	Verdict string `json:"verdict"`

	least  float64 // that P can be, with so many readings
	rounds int     // of the run that has fewer
}

// The verdicts on a change.
const (
	Better  = "better"
	Worse   = "worse"
	Unclear = "no clear change"
	TooFew  = "too few rounds"
)

// NewChange compares two runs by their medians and their readings. Judge says what that means.
func NewChange(better string, medianA, medianB float64, a, b []float64, seed uint64) Change {
	c := Change{Better: better, A: medianA, B: medianB, P: MannWhitney(a, b), least: leastP(len(a), len(b)), rounds: min(len(a), len(b))}
	if c.A != 0 {
		c.Ratio = c.B / c.A
		c.Low, c.High = bootstrapRatio(a, b, seed)
	}
	return c
}

// Judge gives each of the changes its verdict, and adjusts the p-values for their number.
func Judge(all []*Change) {
	p, least := make([]float64, len(all)), 1.0
	for i, c := range all {
		p[i], least = c.P, min(least, c.least)
	}
	for i, adjusted := range Holm(p) {
		c := all[i]
		c.P = adjusted
		switch {
		case least*float64(len(p)) >= Alpha:
			c.Verdict = TooFew
		case adjusted >= Alpha || c.A == c.B:
			c.Verdict = Unclear
		case (c.B > c.A) == (c.Better == HigherIsBetter):
			c.Verdict = Better
		default:
			c.Verdict = Worse
		}
	}
}

// worsening is how much worse B is, as a part of A, and at least how much by the interval; negative if it is
// better. From nothing it is without end; that is sure if it is clear.
func (c Change) worsening() (median, sure float64) {
	if c.A == 0 {
		switch {
		case c.B == 0:
			return 0, 0
		case (c.B > 0) == (c.Better == HigherIsBetter):
			return math.Inf(-1), math.Inf(-1)
		case c.Verdict == Worse:
			return math.Inf(1), math.Inf(1)
		}
		return math.Inf(1), 0
	}
	part := func(ratio float64) float64 {
		if c.Better == HigherIsBetter {
			return 1 - ratio
		}
		return ratio - 1
	}
	return part(c.Ratio), min(part(c.Low), part(c.High))
}

// sure reports whether there is more than one round, so that the interval is more than a point.
func (c Change) sure() bool { return c.rounds > 1 }

// RatioText is the ratio, with its interval.
func (c Change) RatioText() string {
	switch {
	case c.A == 0:
		return "-"
	case !c.sure():
		return fmt.Sprintf("%.2f", c.Ratio)
	}
	return fmt.Sprintf("%.2f [%.2f–%.2f]", c.Ratio, c.Low, c.High)
}

// Summary counts the verdicts.
func Summary(all []*Change) string {
	count, sure := map[string]int{}, false
	for _, c := range all {
		count[c.Verdict]++
		sure = sure || c.sure()
	}
	text := fmt.Sprintf("%d clearly better, %d clearly worse, %d without a clear change", count[Better], count[Worse], count[Unclear])
	switch {
	case count[TooFew] > 0 && !sure:
		return fmt.Sprintf("one round says nothing sure about any of %d differences; measure with --rounds 3 or more", count[TooFew])
	case count[TooFew] > 0:
		text = fmt.Sprintf("too few rounds to call any of %d differences clear; look at the intervals", count[TooFew])
	}
	return text + fmt.Sprintf(" (Mann–Whitney, p < %g after Holm's correction for %d tests)", Alpha, len(all))
}

// bootstrapRatio is the percentile interval (2.5 % to 97.5 %) of the ratio of two medians. Each
// sample is drawn anew with replacement.
func bootstrapRatio(a, b []float64, seed uint64) (low, high float64) {
	if len(a) == 0 || len(b) == 0 {
		return 0, 0
	}
	r := rand.New(rand.NewPCG(seed, uint64(len(a))<<32|uint64(len(b))))
	draw := func(v, into []float64) float64 {
		for i := range into {
			into[i] = v[r.IntN(len(v))]
		}
		slices.Sort(into)
		return quantile(into, 0.5)
	}
	x, y := make([]float64, len(a)), make([]float64, len(b))
	var ratios []float64
	for range resamples {
		if under := draw(a, x); under > 0 {
			ratios = append(ratios, draw(b, y)/under)
		}
	}
	slices.Sort(ratios)
	if len(ratios) == 0 {
		return 0, 0
	}
	return quantile(ratios, 0.025), quantile(ratios, 0.975)
}
