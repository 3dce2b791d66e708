package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Comparison compares two reports, cell by cell.
type Comparison struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Warnings name the other differences between the two reports.
	Warnings []string         `json:"warnings,omitempty"`
	Cells    []ComparisonCell `json:"cells"`
	// OnlyA and OnlyB are the cells that the other report does not have.
	OnlyA []Cell `json:"onlyA,omitempty"`
	OnlyB []Cell `json:"onlyB,omitempty"`
	// Tests is how many differences were tested. P is adjusted for this number.
	Tests int `json:"tests"`

	a, b *Report
}

// ComparisonCell is one figure in both reports. Its ratio is of medians of different runs, so it also
// contains changes of the machine. HostRatio compares the ratios to the host column, and contains less
// of these changes.
type ComparisonCell struct {
	Cell
	Figure string `json:"figure"`
	Unit   string `json:"unit"`
	Change
	HostRatio float64 `json:"hostRatio,omitempty"`
	// Headline marks the probe's first figure.
	Headline bool `json:"headline,omitempty"`
}

// Compare compares two reports.
func Compare(a, b *Report) Comparison {
	out := Comparison{APIVersion: apiVersion, Kind: "BenchComparison", a: a, b: b}
	old := a.byCell()
	x, y := collectValues(a.Samples), collectValues(b.Samples)
	for _, c := range b.Cells {
		before, ok := old[c.Cell]
		if !ok {
			out.OnlyB = append(out.OnlyB, c.Cell)
			continue
		}
		delete(old, c.Cell)
		for i, f := range b.figures(c.Cell) {
			va, vb := x[c.Cell][f.Name], y[c.Cell][f.Name]
			if one, ok := compareFigure(before, c, f, va, vb, b.Method.Seed); ok {
				one.Headline = i == 0
				out.Cells = append(out.Cells, one)
			}
		}
	}
	for _, c := range a.Cells {
		if _, left := old[c.Cell]; left {
			out.OnlyA = append(out.OnlyA, c.Cell)
		}
	}
	Judge(out.all())
	out.Tests = len(out.Cells)
	out.Warnings = append(differences(a, b), out.missing()...)
	return out
}

// all are the changes of its cells.
func (c Comparison) all() (all []*Change) {
	for i := range c.Cells {
		all = append(all, &c.Cells[i].Change)
	}
	return all
}

// sure reports whether some change has more than one round.
func (c Comparison) sure() bool {
	return slices.ContainsFunc(c.Cells, func(x ComparisonCell) bool { return x.sure() })
}

func compareFigure(a, b CellResult, f Figure, va, vb []float64, seed uint64) (ComparisonCell, bool) {
	x, inA := a.Figures[f.Name]
	y, inB := b.Figures[f.Name]
	if !inA || !inB || x.Median == 0 || f.Better == Informative {
		return ComparisonCell{}, false
	}
	c := ComparisonCell{Cell: b.Cell, Figure: f.Name, Unit: f.Unit, Change: NewChange(f.Better, x.Median, y.Median, va, vb, seed)}
	if p, q := a.RatioHost[f.Name], b.RatioHost[f.Name]; p.Median > 0 {
		c.HostRatio = q.Median / p.Median
	}
	return c, true
}

// missing returns a line for each report that says how many cells the other one lacks.
func (c Comparison) missing() []string {
	var all []string
	for _, side := range []struct {
		name  string
		cells []Cell
	}{{"first", c.OnlyA}, {"second", c.OnlyB}} {
		if n := len(side.cells); n > 0 {
			all = append(all, fmt.Sprintf("only the %s has %s: %s", side.name, plural(n, "cell"), firstCells(side.cells)))
		}
	}
	return all
}

// firstCells names the first cells.
func firstCells(cells []Cell) string {
	const most = 3
	var names []string
	for _, c := range cells[:min(most, len(cells))] {
		names = append(names, c.String())
	}
	text := strings.Join(names, ", ")
	if len(cells) > most {
		text += fmt.Sprintf(" and %d more", len(cells)-most)
	}
	return text
}
