package bench

import (
	"fmt"
	"slices"
	"strconv"
)

// Check returns an error with the code Threshold if any limit is crossed. A
// limit that chooses no cell, or a cell without the figure, is an error, too: a
// condition must not pass because it checks nothing.
func (r *Report) Check(limits []Limit) error {
	var crossed []string
	for _, l := range limits {
		if l.Metric == missedGoals {
			if n := float64(missed(r.Goals)); r.Goals == nil {
				return badLimit(l.String(), "the report's preset has no goals")
			} else if l.holds(n, l.Value) {
				crossed = append(crossed, fmt.Sprintf("%s: %g of %d goals are missed or not measured", l, n, len(r.Goals)))
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
			return badLimit(l.String(), "it chooses no cell of this report, whose figures are "+r.metrics().String())
		}
	}
	return thresholdError(crossed)
}

// chooses reports whether the labels match the cell and the cell has the metric.
func (l Limit) chooses(r *Report, c CellResult) bool {
	if !l.matches(c.Cell) {
		return false
	}
	if l.Metric == "cpu" {
		return true
	}
	if _, over, ok := ratioParts(l.Metric); ok && (over == c.Mode || !r.has(withMode(c.Cell, over))) {
		return false
	}
	name := l.figure(r, c)
	for _, f := range r.figures(c.Cell) {
		if _, fits := convert(l.Value, l.Unit, l.unit(f)); f.Name == name && fits {
			return true
		}
	}
	return false
}

func (r *Report) has(c Cell) bool {
	return slices.ContainsFunc(r.Cells, func(x CellResult) bool { return x.Cell == c })
}

// matches reports whether the labels match the cell.
func (l Limit) matches(c Cell) bool {
	for key, has := range map[string]string{
		"mode": c.Mode, "span": c.Span, "probe": c.Probe, "size": strconv.Itoa(c.Size), "pairs": strconv.Itoa(c.Pairs), "wire": wireName(c.Wire),
	} {
		if want, ok := l.Labels[key]; ok && want != has {
			return false
		}
	}
	return true
}

// unit returns the unit of the values that the limit is about: of the figure, or of its ratio.
func (l Limit) unit(f Figure) string {
	if isRatio(l.Metric) {
		return ratioUnit
	}
	return unitOf(f)
}

// bound returns the limit in the unit of the cell's values.
func (l Limit) bound(r *Report, c CellResult) float64 {
	unit := "%"
	if l.Metric != "cpu" {
		unit = l.unit(r.figure(c.Cell, l.figure(r, c)))
	}
	v, _ := convert(l.Value, l.Unit, unit)
	return v
}

// metrics returns the report's metrics.
func (r *Report) metrics() grammar {
	g := grammar{"cpu": {"%"}}
	for _, c := range r.Columns {
		g.addRatios([]string{c.Mode})
	}
	for _, p := range r.Probes {
		for _, f := range p.Figures {
			if unit := baseUnit(f); !slices.Contains(g[f.Name], unit) {
				g[f.Name] = append(g[f.Name], unit)
			}
		}
	}
	return g
}

// figure names the figure of the cell that the limit is about.
func (l Limit) figure(r *Report, c CellResult) string {
	if !isRatio(l.Metric) {
		return l.Metric
	}
	if name, ok := l.Labels["figure"]; ok {
		return name
	}
	return r.headline(c.Cell).Name
}

func (l Limit) crossed(r *Report, c CellResult) string {
	v, ok := l.value(r, c)
	switch {
	case !ok:
		return fmt.Sprintf("%s: %s has no such figure", l, c.Cell)
	case l.holds(v, l.bound(r, c)):
		return fmt.Sprintf("%s: %s has %s", l, c.Cell, l.text(r, c, v))
	}
	return ""
}

func (l Limit) value(r *Report, c CellResult) (float64, bool) {
	switch {
	case l.Metric == "cpu":
		return c.CPU.Percent, len(c.Figures) > 0
	case isRatio(l.Metric):
		return l.ratioValue(r, c)
	}
	stat, ok := c.Figures[l.Metric]
	return stat.Median, ok
}

func (l Limit) text(r *Report, c CellResult, v float64) string {
	if l.Metric == "cpu" || isRatio(l.Metric) {
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprintf("%.4g %s", v, unitOf(r.figure(c.Cell, l.Metric)))
}

func (l Limit) holds(v, bound float64) bool {
	switch l.Op {
	case "<":
		return v < bound
	case "<=":
		return v <= bound
	case ">":
		return v > bound
	}
	return v >= bound
}
