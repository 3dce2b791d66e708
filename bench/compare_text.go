package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/heddle-network/heddle"
)

// Text writes the comparison for people.
func (c Comparison) Text(w io.Writer) error {
	for _, warning := range c.Warnings {
		if _, err := fmt.Fprintln(w, "differs: "+heddle.Visible(warning, false)); err != nil {
			return err
		}
	}
	t := newTable()
	t.AppendHeader(table.Row{"cell", "figure", "first", "second", c.ratioHead(), "the same\n÷ host", "", "verdict"})
	for _, x := range c.Cells {
		t.AppendRow(table.Row{x.Cell, x.Figure + ", " + unitOf(Figure{Unit: x.Unit}), number(x.A), number(x.B),
			c.ratioText(x), x.hostText(), x.Better, x.Verdict})
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n", t.Render(), c.summary())
	return err
}

// oneRound reports whether a report has a single round, whose interval would be a point.
func (c Comparison) oneRound() bool { return c.a.Method.Rounds < 2 || c.b.Method.Rounds < 2 }

func (c Comparison) ratioText(x ComparisonCell) string {
	if c.oneRound() {
		return fmt.Sprintf("%.2f", x.Ratio)
	}
	return fmt.Sprintf("%.2f [%.2f–%.2f]", x.Ratio, x.Low, x.High)
}

func (c ComparisonCell) hostText() string {
	if c.HostRatio > 0 {
		return fmt.Sprintf("%.2f", c.HostRatio)
	}
	return "-"
}

func (c Comparison) ratioHead() string {
	if c.oneRound() {
		return "second ÷ first"
	}
	return "second ÷ first\n[95 %]"
}

// summary counts the verdicts.
func (c Comparison) summary() string {
	count := map[string]int{}
	for _, x := range c.Cells {
		count[x.Verdict]++
	}
	text := fmt.Sprintf("%d clearly better, %d clearly worse, %d without a clear change", count[Better], count[Worse], count[Unclear])
	switch {
	case count[TooFew] > 0 && c.oneRound():
		return fmt.Sprintf("one round says nothing sure about any of %d differences; measure with --rounds 3 or more", count[TooFew])
	case count[TooFew] > 0:
		text = fmt.Sprintf("too few rounds to call any of %d differences clear; look at the intervals", count[TooFew])
	}
	return text + fmt.Sprintf(" (Mann–Whitney, p < %g after Holm's correction for %d tests)", Alpha, c.Tests)
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
