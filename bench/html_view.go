package bench

import (
	"math"
	"slices"
)

// view is a report with values that all parts of the page need.
type view struct {
	*Report
	verdicts verdicts
	values   map[Cell]map[string][]float64
	readings map[Cell]readings
	cells    map[Cell]CellResult
	modes    []string // in the order of the columns
	several  bool     // wires
	grids    int      // drawn so far
	bySample map[Cell][]Sample
}

func newView(r *Report) *view {
	v := &view{Report: r, verdicts: r.verdicts(), values: collectValues(r.Samples), readings: collect(r.Samples), cells: r.byCell()}
	for _, c := range r.Columns {
		if !slices.Contains(v.modes, c.Mode) {
			v.modes = append(v.modes, c.Mode)
		}
	}
	for _, c := range r.Cells {
		v.several = v.several || c.Wire != ""
		if !slices.Contains(v.modes, c.Mode) {
			v.modes = append(v.modes, c.Mode)
		}
	}
	return v
}

func (v *view) index(mode string) int { return slices.Index(v.modes, mode) }

// situations are the cells without their modes, in the report's order.
func (v *view) situations() []Cell {
	var all []Cell
	seen := map[Cell]bool{}
	for _, p := range v.Probes {
		for _, c := range v.Cells {
			if key := withoutMode(c.Cell); c.Probe == p.Name && !seen[key] {
				seen[key] = true
				all = append(all, key)
			}
		}
	}
	return all
}

func withoutMode(c Cell) Cell {
	c.Mode = ""
	return c
}

func withMode(c Cell, mode string) Cell {
	c.Mode = mode
	return c
}

// betterIsMore inverts a ratio if lower is better, so that a higher value is always better.
func betterIsMore(r Ratio, f Figure) Ratio {
	if f.Better != LowerIsBetter {
		return r
	}
	if r.Median <= 0 || r.Low <= 0 || r.High <= 0 {
		return Ratio{}
	}
	return Ratio{r.N, 1 / r.Median, 1 / r.High, 1 / r.Low}
}

// standing returns a mode's ratio to the control in a situation. A higher value is better.
func (v *view) standing(c Cell) (Ratio, bool) {
	f := v.headline(c)
	if c.Mode == Control {
		s, ok := v.cells[c].Figures[f.Name]
		return Ratio{s.N, 1, 1, 1}, ok
	}
	r, ok := v.cells[c].RatioHost[f.Name]
	g := betterIsMore(r, f)
	return g, ok && g.Median > 0
}

// best returns the mode with the highest standing, without the control, and the modes whose
// intervals overlap with its interval.
func (v *view) best(situation Cell) (mode string, tied []string) {
	var top Ratio
	for _, m := range v.modes {
		if s, ok := v.standing(withMode(situation, m)); ok && m != Control && s.Median > top.Median {
			mode, top = m, s
		}
	}
	for _, m := range v.modes {
		if s, ok := v.standing(withMode(situation, m)); ok && m != Control && m != mode && s.High >= top.Low {
			tied = append(tied, m)
		}
	}
	return mode, tied
}

func geometricMean(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, x := range values {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(values)))
}
