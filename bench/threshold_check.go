package bench

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// Check returns an error with the code Threshold if any limit is crossed. A
// limit that chooses no cell, or a cell without the figure, is an error too: a
// gate that looks at nothing must not stay open.
func (r *Report) Check(limits []Limit) error {
	var crossed []string
	for _, l := range limits {
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
			return badLimit(l.String(), "it chooses no cell of this report")
		}
	}
	if crossed == nil {
		return nil
	}
	return &heddle.Error{Code: heddle.Threshold, Kind: heddle.Failed, Op: "bench --fail-if", Cause: strings.Join(crossed, "; "), Remedy: "see the report"}
}

// chooses looks at the labels, and at whether the metric is one of the cell's.
func (l Limit) chooses(r *Report, c CellResult) bool {
	for key, has := range map[string]string{
		"mode": c.Mode, "span": c.Span, "probe": c.Probe, "size": strconv.Itoa(c.Size), "pairs": strconv.Itoa(c.Pairs),
	} {
		if want, ok := l.Labels[key]; ok && want != has {
			return false
		}
	}
	name := l.figure(r, c)
	switch l.Metric {
	case "cpu":
		return true
	case "ratio-host":
		if c.Mode == Control {
			return false
		}
	case "ratio-bridge":
		if c.Mode == Reference {
			return false
		}
	}
	for _, f := range r.figures(c.Cell) {
		if f.Name == name {
			return true
		}
	}
	return false
}

// figure is the one that the limit looks at in a cell.
func (l Limit) figure(r *Report, c CellResult) string {
	if !strings.HasPrefix(l.Metric, "ratio-") {
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
	case l.holds(v):
		return fmt.Sprintf("%s: %s has %.4g", l, c.Cell, v)
	}
	return ""
}

func (l Limit) value(r *Report, c CellResult) (float64, bool) {
	name := l.figure(r, c)
	switch l.Metric {
	case "cpu":
		return c.CPU.Percent, len(c.Figures) > 0
	case "ratio-host":
		ratio, ok := c.RatioHost[name]
		return ratio.Median, ok
	case "ratio-bridge":
		ratio, ok := c.RatioBridge[name]
		return ratio.Median, ok
	}
	stat, ok := c.Figures[name]
	return stat.Median, ok
}

func (l Limit) holds(v float64) bool {
	switch l.Op {
	case "<":
		return v < l.Value
	case "<=":
		return v <= l.Value
	case ">":
		return v > l.Value
	}
	return v >= l.Value
}
