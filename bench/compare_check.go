package bench

import (
	"fmt"
	"strings"

	"github.com/heddle-network/heddle"
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
func ParseChangeLimits(expr string) ([]Limit, error) { return parseLimits(expr, changeGrammar()) }

// worse is how much worse the second report is, as a part of the first; negative if it is better.
func (c ComparisonCell) worse(ratio float64) float64 {
	if c.Better == HigherIsBetter {
		return 1 - ratio
	}
	return ratio - 1
}

func (c ComparisonCell) change(metric string) float64 {
	switch metric {
	case plainRatio:
		return c.Ratio
	case regression:
		return c.worse(c.Ratio)
	}
	return min(c.worse(c.Low), c.worse(c.High))
}

// Check returns an error with the code Threshold if any limit is crossed. A limit that chooses
// nothing is an error, too.
func (c Comparison) Check(limits []Limit) error {
	var crossed []string
	for _, l := range limits {
		if l.Metric == sureRegression && c.oneRound() {
			return heddle.Errorf(heddle.BadArgument, "check --fail-if", l.String(), "one round is never sure", "measure with --rounds 3 or more")
		}
		chosen := 0
		for _, x := range c.Cells {
			if !l.choosesChange(x) {
				continue
			}
			chosen++
			bound, _ := convert(l.Value, l.Unit, ratioUnit)
			if v := x.change(l.Metric); l.holds(v, bound) {
				crossed = append(crossed, fmt.Sprintf("%s: %s %s has %.3g (second ÷ first %s, %s)", l, x.Cell, x.Figure, v, c.ratioText(x), x.Verdict))
			}
		}
		if chosen == 0 {
			return badLimit(l.String(), "it chooses no cell that both reports have")
		}
	}
	return thresholdError(crossed)
}

func (l Limit) choosesChange(c ComparisonCell) bool {
	if !l.matches(c.Cell) {
		return false
	}
	if name, ok := l.Labels["figure"]; ok {
		return name == c.Figure
	}
	return c.Headline
}

// thresholdError names the first of the crossed limits.
func thresholdError(crossed []string) error {
	const most = 8
	if crossed == nil {
		return nil
	}
	if more := len(crossed) - most; more > 0 {
		crossed = append(crossed[:most:most], fmt.Sprintf("and %d more", more))
	}
	return &heddle.Error{Code: heddle.Threshold, Kind: heddle.Failed, Op: "check --fail-if", Cause: strings.Join(crossed, separator), Remedy: "see the report"}
}
