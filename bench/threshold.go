package bench

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/heddle-network/heddle/limit"
)

// missedGoals is the number of the preset's goals that are missed or not measured.
const missedGoals = "missed-goals"

// limitLabels choose cells, and the figure of a ratio.
var limitLabels = []string{"mode", "span", "probe", "size", "pairs", "wire", "figure"}

// ParseLimits reads a --fail-if expression about a report. The metrics are the names of figures
// (received, p99, …); ratio-MODE, low-ratio-MODE and high-ratio-MODE, for the ratio of the headline
// figure or of the figure that the label figure names; cpu (percent of the machine); missed-goals
// (how many of the preset's goals are missed or not measured).
func ParseLimits(expr string) ([]limit.Limit, error) { return limit.Parse(expr, reportGrammar()) }

func reportGrammar() limit.Grammar {
	g := limit.Grammar{Units: map[string][]string{"cpu": {"%"}, missedGoals: {""}}, Labels: limitLabels, Whole: []string{missedGoals}}
	for _, p := range Presets() {
		g.AddRatios(p.Modes...)
	}
	counted := Matrix{InstructionTime: time.Nanosecond} // the figures of such a run, too
	for _, p := range Probes() {
		for _, f := range counted.figures(p) {
			g.Add(f.Name, unitOf(f))
		}
	}
	return g
}

// condition is a limit on cells of a report.
type condition struct{ limit.Limit }

// Check returns an error with the code Threshold if any limit is crossed. A
// limit that chooses no cell, or a cell without the figure, is an error, too: a
// condition must not pass because it checks nothing.
func (r *Report) Check(limits []limit.Limit) error {
	var crossed []string
	for _, one := range limits {
		l := condition{one}
		if l.Metric == missedGoals {
			if n := missed(r.Goals); r.Goals == nil {
				return limit.Refuse(l.String(), "the report's preset has no goals")
			} else if l.Crossed(float64(n), "") {
				crossed = append(crossed, fmt.Sprintf("%s: %d of %d goals are missed or not measured", l, n, len(r.Goals)))
			}
			continue
		}
		chosen := 0
		for _, c := range r.Cells {
			if !l.chooses(r, c) {
				continue
			}
			chosen++
			if why := l.crossed(r, c); why != "" {
				crossed = append(crossed, why)
			}
		}
		if chosen == 0 {
			return limit.Refuse(l.String(), "it chooses no cell of this report, whose figures are "+r.metrics().String())
		}
	}
	return limit.Failed(crossed)
}

// chooses reports whether the labels match the cell and the cell has the metric.
func (l condition) chooses(r *Report, c CellResult) bool {
	if !l.Matches(cellLabels(c.Cell)) {
		return false
	}
	if l.Metric == "cpu" {
		return true
	}
	if over, _, ok := l.Ratio(); ok && (over == c.Mode || !r.has(withMode(c.Cell, over))) {
		return false
	}
	name := l.figure(r, c)
	return slices.ContainsFunc(r.figures(c.Cell), func(f Figure) bool { return f.Name == name && l.Fits(l.unit(f)) })
}

func (r *Report) has(c Cell) bool {
	return slices.ContainsFunc(r.Cells, func(x CellResult) bool { return x.Cell == c })
}

// cellLabels are the labels of a cell.
func cellLabels(c Cell) map[string]string {
	return map[string]string{
		"mode": c.Mode, "span": c.Span, "probe": c.Probe, "size": strconv.Itoa(c.Size), "pairs": strconv.Itoa(c.Pairs), "wire": wireName(c.Wire),
	}
}

// unit returns the unit of the values that the limit is about: of the figure, or of its ratio.
func (l condition) unit(f Figure) string {
	if _, _, ratio := l.Ratio(); ratio {
		return limit.RatioUnit
	}
	return unitOf(f)
}

// metrics returns the report's metrics.
func (r *Report) metrics() limit.Grammar {
	g := limit.Grammar{Units: map[string][]string{"cpu": {"%"}}}
	for _, c := range r.Columns {
		g.AddRatios(c.Mode)
	}
	for _, p := range r.Probes {
		for _, f := range p.Figures {
			g.Add(f.Name, unitOf(f))
		}
	}
	return g
}

// figure names the figure of the cell that the limit is about.
func (l condition) figure(r *Report, c CellResult) string {
	if _, _, ratio := l.Ratio(); !ratio {
		return l.Metric
	}
	if name, ok := l.Labels["figure"]; ok {
		return name
	}
	return r.headline(c.Cell).Name
}

// crossed says how a cell crosses the limit; "" if it does not.
func (l condition) crossed(r *Report, c CellResult) string {
	v, unit, ok := l.value(r, c)
	switch {
	case !ok:
		return fmt.Sprintf("%s: %s has no such figure", l, c.Cell)
	case !l.Crossed(v, unit):
		return ""
	case unit == limit.RatioUnit || l.Metric == "cpu":
		return fmt.Sprintf("%s: %s has %.4g", l, c.Cell, v)
	}
	return fmt.Sprintf("%s: %s has %.4g %s", l, c.Cell, v, unit)
}

func (l condition) value(r *Report, c CellResult) (v float64, unit string, ok bool) {
	if l.Metric == "cpu" {
		return c.CPU.Percent, "%", len(c.Figures) > 0
	}
	name := l.figure(r, c)
	if over, end, ratio := l.Ratio(); ratio {
		got, ok := PairedRatio(r.readings(c.Cell, name), r.readings(withMode(c.Cell, over), name), r.Method.Seed)
		return got.At(end), limit.RatioUnit, ok
	}
	stat, ok := c.Figures[name]
	return stat.Median, unitOf(r.figure(c.Cell, name)), ok
}

// readings returns the readings of a figure, by round, of the counted rounds.
func (r *Report) readings(c Cell, figure string) map[int]float64 {
	all := map[int]float64{}
	for _, s := range r.Samples {
		if v, ok := s.Figures[figure]; ok && s.Cell == c && !s.Warmup {
			all[s.Round] = v
		}
	}
	return all
}
