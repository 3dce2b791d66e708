package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/crowd/tally"
	"github.com/heddle-network/heddle/limit"
)

// limitLabels choose among figures; the label figure names the one that a ratio is of.
var limitLabels = []string{"mode", "behaviour", "action", "figure"}

// headline is the figure that a ratio is of unless it names one.
const headline = "p50"

// anything has each figure that a round can have, so that conditions can be read before there is a report.
var anything = Report{Rounds: []Round{{Round: round.Round{Result: tally.Result{
	Behaviours: map[string]tally.Sessions{"any": {}}, Actions: map[string]tally.Steps{"web.page": {}}, Caches: map[string]tally.Objects{"any": {}}}}}}}

// ParseLimits reads a --fail-if expression about a report of these modes. The metrics are figures, medians over
// the rounds: achieved (of all sessions, unless a behaviour is named), p50, p99 and apdex (of each action, or of
// the one named), mos-p10, stalled, memory, lag and others; and ratio-MODE, low-ratio-MODE and high-ratio-MODE, to
// the mode's value in the same round, of p50 unless a figure is named.
func ParseLimits(expr string, known Known) ([]limit.Limit, error) {
	g := limit.Grammar{Units: map[string][]string{}, Labels: limitLabels}
	for _, f := range anything.Figures() {
		if f.Metric != "" {
			g.Add(f.Metric, f.Unit.inLimits())
		}
	}
	g.AddRatios(known.Modes...)
	all, err := limit.Parse(expr, g)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if why := known.refuses(l, g.Units[l.Metric]); why != "" {
			return nil, limit.Refuse(l.String(), why)
		}
	}
	return all, nil
}

// Known is what a report has, or will have.
type Known struct{ Modes, Behaviours, Actions []string }

// Known is what the report has.
func (r Report) Known() Known {
	return Known{r.Modes, Names(r, func(one Round) map[string]tally.Sessions { return one.Behaviours }),
		Names(r, func(one Round) map[string]tally.Steps { return one.Actions })}
}

// refuses says why a condition means nothing; "" if it means something.
func (k Known) refuses(l limit.Limit, units []string) string {
	for _, x := range []struct {
		label string
		known []string
	}{{"mode", k.Modes}, {"behaviour", k.Behaviours}, {"action", k.Actions}} {
		if name, is := l.Labels[x.label]; is && !slices.Contains(x.known, name) {
			return fmt.Sprintf("there is no %s %q; there are %s", x.label, heddle.Clip(name), strings.Join(x.known, ", "))
		}
	}
	_, _, ratio := l.Ratio()
	switch {
	case !ratio && l.Labels["figure"] != "":
		return "the label figure is that of ratios"
	case l.Unit == "" && (slices.Contains(units, string(Time)) || slices.Contains(units, string(Bytes))):
		return "it has no unit, such as ms or MB"
	case l.Unit == "" && !ratio && slices.Contains(units, string(Share)) && l.Value > 1:
		return "it is a share: write 99% or 0.99"
	}
	return ""
}

// inLimits is the unit in the words of conditions: scores and numbers have none.
func (u Unit) inLimits() string {
	switch u {
	case Score, Processors:
		return ""
	}
	return string(u)
}

// Check returns an error with the code Threshold if any limit is crossed. A mode in which a chosen figure has no value
// crosses it, too, such as how long people waited for what always failed. A limit all of whose figures have none is an error: a
// condition must not pass because it checks nothing. The text writes a figure's value.
func (r Report) Check(limits []limit.Limit, text func(Figure, float64) string) error {
	var crossed []string
	for _, l := range limits {
		checked := 0
		var missing []string
		for _, mode := range r.Played() {
			for _, f := range r.Figures() {
				if over, _, ratio := l.Ratio(); !f.chosen(l, mode) || ratio && over == mode {
					continue
				}
				v, unit, ok := r.limited(l, mode, f)
				switch where := mode + " " + f.Name(); {
				case !ok:
					missing = append(missing, fmt.Sprintf("%s: %s has no value", l, where))
					continue
				case l.Crossed(v, unit) && unit == limit.RatioUnit:
					crossed = append(crossed, fmt.Sprintf("%s: %s has %.4g", l, where, v))
				case l.Crossed(v, unit):
					crossed = append(crossed, fmt.Sprintf("%s: %s has %s", l, where, text(f, v)))
				}
				checked++
			}
		}
		if checked == 0 {
			return limit.Refuse(l.String(), "no round of the report has this figure; see the report's figures, in modes "+strings.Join(r.Played(), ", "))
		}
		crossed = append(crossed, missing...)
	}
	return limit.Failed(crossed)
}

// chosen reports whether a limit is about the figure in that mode.
func (f Figure) chosen(l limit.Limit, mode string) bool {
	metric := l.Metric
	if _, _, ratio := l.Ratio(); ratio {
		if metric = headline; l.Labels["figure"] != "" {
			metric = l.Labels["figure"]
		}
	}
	if f.Metric == "" || f.Metric != metric || f.Behaviour != l.Labels["behaviour"] {
		return false
	}
	return l.Matches(map[string]string{"mode": mode, "action": f.Action})
}

// limited is the value that a limit is about, and its unit in the limit's words.
func (r Report) limited(l limit.Limit, mode string, f Figure) (v float64, unit string, ok bool) {
	if over, end, ratio := l.Ratio(); ratio {
		got, ok := r.Ratio(mode, over, f.Value)
		if !ok { // there is no ratio to nothing
			a, hasA := r.Median(mode, f.Value)
			b, hasB := r.Median(over, f.Value)
			return bench.Quotient(a, b), limit.RatioUnit, hasA && hasB
		}
		return got.At(end), limit.RatioUnit, ok
	}
	v, ok = r.Median(mode, f.Value)
	return v, f.Unit.inLimits(), ok
}
