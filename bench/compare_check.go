package bench

import (
	"fmt"

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
		chosen := 0
		for _, x := range all {
			if _, named := l.Labels["figure"]; !l.Matches(x.Labels) || !named && !x.Headline {
				continue
			}
			if l.Metric == sureRegression && !x.Sure() {
				return heddle.Errorf(heddle.BadArgument, "check --fail-if", l.String(), "one round is never sure", "measure with --rounds 3 or more")
			}
			chosen++
			if v := x.metric(l.Metric); l.Crossed(v, limit.RatioUnit) {
				crossed = append(crossed, fmt.Sprintf("%s: %s has %.3g (second ÷ first %s, %s)", l, x.Name, v, x.RatioText(), x.Verdict))
			}
		}
		if chosen == 0 {
			return limit.Refuse(l.String(), "it chooses nothing that both reports have")
		}
	}
	return limit.Failed(crossed)
}

// metric returns a metric of the change.
func (c Change) metric(name string) float64 {
	median, sure := c.Worsening()
	switch name {
	case plainRatio:
		return c.Ratio
	case regression:
		return median
	}
	return sure
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
