package bench

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// takes says what our value is, and what it must be to meet the next limit.
func (g Goal) takes(verdict string, ours, peer, base float64) string {
	limit, name := g.AtLeast, "the limit"
	switch verdict {
	case AimMet:
		return ""
	case Met:
		limit, name = g.Aim, "the aim"
	}
	want, unit := g.allows(limit, peer, base), g.unit()
	out := fmt.Sprintf("%s %s now, %s at %s", digits(ours), unit, digits(want), name)
	if g.Of == Extra {
		out += fmt.Sprintf(" (native %s, peer %s)", digits(base), digits(peer))
	}
	if strings.HasSuffix(unit, "packets/s") && ours > 0 && want > 0 {
		out = fmt.Sprintf("%s %s now, %s at %s: %.0f ns of %.0f less for each", number(ours), unit, number(want), name, 1e9/ours-1e9/want, 1e9/ours)
	}
	return out
}

// unit is the unit of the figure.
func (g Goal) unit() string {
	for _, p := range Probes() {
		for _, f := range p.Figures() {
			if p.Name() == g.Ours.Probe && f.Name == g.Ours.Figure {
				return unitOf(f)
			}
		}
	}
	return ""
}

// Limit formats a limit for people.
func (g Goal) Limit(v float64) string {
	sign := "≥ "
	if g.Of.lessIsBetter() {
		sign = "≤ "
	}
	return fmt.Sprintf("%s%.2f", sign, v)
}

// Reading is the value with its interval.
func (g GoalResult) Reading() string {
	if g.Value.N == 0 {
		return "-"
	}
	if g.Value.N == 1 {
		return fmt.Sprintf("%.3f", g.Value.Median)
	}
	return fmt.Sprintf("%.3f [%.3f–%.3f]", g.Value.Median, g.Value.Low, g.Value.High)
}

// Words are the verdict, and how certain it is.
func (g GoalResult) Words() string {
	if g.Sure || g.Value.N == 0 {
		return g.Verdict
	}
	return g.Verdict + "?"
}

// goalsText is the goals' part of the report for people; "" without any.
func (r *Report) goalsText() string {
	if len(r.Goals) == 0 {
		return ""
	}
	t := newTable()
	t.SetTitle("%s", goalsTitle(r.Method.Placement))
	t.AppendHeader(table.Row{"figure", "at least", "aim", "reading [95 %]", "", "what it would take"})
	for _, g := range r.Goals {
		t.AppendRow(table.Row{g.Name, g.Limit(g.AtLeast), g.Limit(g.Aim), g.Reading(), g.Words(), g.Takes})
	}
	return "\n" + t.Render() + "\n" + goalsLegend + "\n"
}

func goalsTitle(placement string) string { return "Goals, " + placement }

const goalsLegend = "Readings are medians of ratios within one round; ? marks a verdict whose interval reaches across the limit. Guards against spoofing and the networks' isolation are on; Docker's layout has neither."
