package bench

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Comparison is of two reports, cell by cell.
type Comparison struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Warnings name what differs between the two besides the figures.
	Warnings []string         `json:"warnings,omitempty"`
	Cells    []ComparisonCell `json:"cells"`
}

// ComparisonCell is one figure in both reports; Ratio is B divided by A. It is
// of medians of different runs, so it holds what changed in the machine as well;
// HostRatio, the same of the ratios to the host column, holds less of that.
type ComparisonCell struct {
	Cell
	Figure    string  `json:"figure"`
	Unit      string  `json:"unit"`
	Better    string  `json:"better"`
	A         float64 `json:"a"`
	B         float64 `json:"b"`
	Ratio     float64 `json:"ratio"`
	HostRatio float64 `json:"hostRatio,omitempty"`
}

// Compare two reports. Cells that only one has are named in the warnings.
func Compare(a, b *Report) Comparison {
	out := Comparison{APIVersion: apiVersion, Kind: "BenchComparison", Warnings: differences(a, b)}
	old := map[Cell]CellResult{}
	for _, c := range a.Cells {
		old[c.Cell] = c
	}
	for _, c := range b.Cells {
		before, ok := old[c.Cell]
		if !ok {
			out.Warnings = append(out.Warnings, "only the second has "+c.Cell.String())
			continue
		}
		delete(old, c.Cell)
		for _, f := range b.figures(c.Cell) {
			if x, ok := compareFigure(before, c, f); ok {
				out.Cells = append(out.Cells, x)
			}
		}
	}
	for _, c := range a.Cells {
		if _, left := old[c.Cell]; left {
			out.Warnings = append(out.Warnings, "only the first has "+c.Cell.String())
		}
	}
	return out
}

func compareFigure(a, b CellResult, f Figure) (ComparisonCell, bool) {
	x, inA := a.Figures[f.Name]
	y, inB := b.Figures[f.Name]
	if !inA || !inB || x.Median == 0 || f.Better == Informative {
		return ComparisonCell{}, false
	}
	c := ComparisonCell{Cell: b.Cell, Figure: f.Name, Unit: f.Unit, Better: f.Better, A: x.Median, B: y.Median, Ratio: y.Median / x.Median}
	if p, q := a.RatioHost[f.Name], b.RatioHost[f.Name]; p.Median > 0 {
		c.HostRatio = q.Median / p.Median
	}
	return c, true
}

func differences(a, b *Report) []string {
	var all []string
	for _, x := range []struct{ what, a, b string }{
		{"placement", a.Method.Placement, b.Method.Placement},
		{"congestion control", a.Method.CongestionControl, b.Method.CongestionControl},
		{"duration", fmt.Sprint(a.Method.Seconds), fmt.Sprint(b.Method.Seconds)},
		{"offered load", fmt.Sprint(a.Method.Load), fmt.Sprint(b.Method.Load)},
		{"kernel", a.Environment.Kernel, b.Environment.Kernel},
		{"CPU", a.Environment.CPU, b.Environment.CPU},
		{"cores", fmt.Sprint(a.Environment.Cores), fmt.Sprint(b.Environment.Cores)},
		{"bridge-nf-call-iptables", a.Environment.BridgeNF, b.Environment.BridgeNF},
	} {
		if x.a != x.b {
			all = append(all, fmt.Sprintf("%s: %s, then %s", x.what, x.a, x.b))
		}
	}
	for _, tool := range sortedKeys(b.Environment.Tools) {
		if x, y := a.Environment.Tools[tool], b.Environment.Tools[tool]; x != "" && x != y {
			all = append(all, fmt.Sprintf("%s: %s, then %s", tool, x, y))
		}
	}
	return all
}

// Text writes the comparison for people.
func (c Comparison) Text(w io.Writer) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"cell", "figure", "first", "second", "second ÷ first", "the same ÷ host", ""})
	for _, x := range c.Cells {
		host := "-"
		if x.HostRatio > 0 {
			host = fmt.Sprintf("%.2f", x.HostRatio)
		}
		t.AppendRow(table.Row{x.Cell, x.Figure + ", " + x.Unit, number(x.A), number(x.B), fmt.Sprintf("%.2f", x.Ratio), host, x.Better})
	}
	for _, warning := range c.Warnings {
		if _, err := fmt.Fprintln(w, "differs: "+warning); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}
