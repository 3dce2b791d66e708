package limit

import (
	"maps"
	"slices"
	"strings"
)

// Grammar says what an expression may name.
type Grammar struct {
	// Units are the metrics, each with the units of its values.
	Units map[string][]string
	// Labels are those that choose among the figures of a metric.
	Labels []string
	// Whole are metrics of the whole, which have no labels.
	Whole []string
}

// RatioUnit is the unit of a plain ratio, which may be written in percent.
const RatioUnit = "ratio"

// Add adds a metric with a unit. Of a unit of several words, such as "% of sent", the first one counts.
func (g Grammar) Add(metric, unit string) {
	unit, _, _ = strings.Cut(unit, " ")
	if !slices.Contains(g.Units[metric], unit) {
		g.Units[metric] = append(g.Units[metric], unit)
	}
}

// String lists the metrics with their units, except those of ratios, which are too many.
func (g Grammar) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(g.Units)) {
		if over, _, ok := ratioParts(name); ok {
			if name = strings.TrimSuffix(name, over) + "MODE"; !slices.Contains(all, name) {
				all = append(all, name)
			}
			continue
		}
		if units := strings.Trim(strings.Join(g.Units[name], ", "), ", "); units != "" {
			name += " (" + units + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}
