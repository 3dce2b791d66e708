package bench

import (
	"slices"
	"strings"
)

// grammar says what a kind of expression may name: metrics, each with the units of its values.
type grammar map[string][]string

// ratioUnit is the unit of a plain ratio, which may be written in percent.
const ratioUnit = "ratio"

// missedGoals is the number of the preset's goals that are missed or not measured.
const missedGoals = "missed-goals"

func reportGrammar() grammar {
	g := grammar{"cpu": {"%"}, missedGoals: {""}}
	for _, p := range Presets() {
		g.addRatios(p.Modes)
	}
	for _, p := range Probes() {
		for _, f := range p.Figures() {
			if unit := baseUnit(f); !slices.Contains(g[f.Name], unit) {
				g[f.Name] = append(g[f.Name], unit)
			}
		}
	}
	return g
}

// baseUnit is the first word of a unit, such as "%" in "% of sent".
func baseUnit(f Figure) string {
	unit, _, _ := strings.Cut(unitOf(f), " ")
	return unit
}

func changeGrammar() grammar {
	return grammar{regression: {ratioUnit}, sureRegression: {ratioUnit}, plainRatio: {ratioUnit}}
}

// String lists the metrics with their units, except those of ratios, which are too many.
func (g grammar) String() string {
	var all []string
	for _, name := range sortedKeys(g) {
		if _, over, ok := ratioParts(name); ok {
			if name = strings.TrimSuffix(name, over) + "MODE"; !slices.Contains(all, name) {
				all = append(all, name)
			}
			continue
		}
		if units := strings.Trim(strings.Join(g[name], ", "), ", "); units != "" {
			name += " (" + units + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}
