package bench

import (
	"fmt"
	"math"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/limit"
)

// The metrics of a comparison's --fail-if.
const (
	regression     = "regression"
	sureRegression = "sure-regression"
	plainRatio     = "ratio"
)

// ParseChangeLimits reads a --fail-if expression about a comparison. The metrics are regression
// (how much worse the second report is, as a part: 0.05 or 5%), sure-regression (the same for the
// near end of the interval) and ratio (second ÷ first), for the headline figure or the one that the
// label figure names.
func ParseChangeLimits(expr string) ([]limit.Limit, error) {
	return limit.Parse(expr, ChangeGrammar(limitLabels))
}

// ChangeGrammar is that of expressions about changes.
func ChangeGrammar(labels []string) limit.Grammar {
	g := limit.Grammar{Labels: labels, Units: map[string][]string{}}
	for _, metric := range []string{regression, sureRegression, plainRatio} {
		g.Add(metric, limit.RatioUnit)
	}
	return g
}

// NamedChange is a change as conditions find it.
type NamedChange struct {
	*Change
	// Name says in words what changed.
	Name string
	// Labels are those it has, also that of its figure.
	Labels map[string]string
	// Headline: it is meant where no figure is named.
	Headline bool
}

// CheckChanges returns an error with the code Threshold if any limit is crossed. A limit that chooses
// nothing is an error, too.
func CheckChanges(limits []limit.Limit, all []NamedChange) error {
	var crossed []string
	for _, l := range limits {
		chosen, sure := 0, false
		for _, x := range all {
			if _, named := l.Labels["figure"]; !l.Matches(x.Labels) || !named && !x.Headline {
				continue
			}
			chosen, sure = chosen+1, sure || x.sure()
			v := x.metric(l.Metric)
			switch {
			case !l.Crossed(v, limit.RatioUnit):
			case x.A == 0:
				crossed = append(crossed, fmt.Sprintf("%s: %s was 0 (%s)", l, x.Name, x.Verdict))
			default:
				crossed = append(crossed, fmt.Sprintf("%s: %s has %.3g (second ÷ first %s, %s)", l, x.Name, v, x.RatioText(), x.Verdict))
			}
		}
		switch {
		case chosen == 0:
			return limit.Refuse(l.String(), "it chooses nothing that both reports have")
		case l.Metric == sureRegression && !sure:
			return heddle.Errorf(heddle.BadArgument, "check --fail-if", l.String(), "one round is never sure", "measure with --rounds 3 or more")
		}
	}
	return limit.Failed(crossed)
}

// metric returns a metric of the change.
func (c Change) metric(name string) float64 {
	median, sure := c.worsening()
	switch name {
	case plainRatio:
		return Quotient(c.B, c.A)
	case regression:
		return median
	}
	return sure
}

// Quotient is a divided by b: 1 if both are 0, and without end if b alone is.
func Quotient(a, b float64) float64 {
	switch {
	case b != 0:
		return a / b
	case a == 0:
		return 1
	}
	return math.Inf(1)
}

// Check returns an error with the code Threshold if any limit is crossed. A limit that chooses
// nothing is an error, too.
func (c Comparison) Check(limits []limit.Limit) error {
	var all []NamedChange
	for i := range c.Cells {
		x := &c.Cells[i]
		labels := cellLabels(x.Cell)
		labels["figure"] = x.Figure
		all = append(all, NamedChange{&x.Change, x.Cell.String() + " " + x.Figure, labels, x.Headline})
	}
	return CheckChanges(limits, all)
}
