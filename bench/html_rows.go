package bench

import (
	"fmt"
	"slices"
)

// plotTable draws a figure of a group: its values, its ratios to the control, and, beside the
// headline, the CPU time.
func (v *view) plotTable(cells []CellResult, f Figure, headline bool) plotTable {
	t := plotTable{Caption: captionOf(f), Unit: unitOf(f), Better: betterWord(f), Headline: headline, CPU: headline}
	var values, ratios []float64
	most := 0.0
	for _, c := range cells {
		if s, ok := c.Figures[f.Name]; ok {
			values = append(values, s.Min, s.Max)
		}
		if r, ok := c.RatioHost[f.Name]; ok {
			ratios = append(ratios, r.Low, r.High)
		}
		most = max(most, v.loadOf(c).total())
	}
	s, rs := newScale(values), ratioScale(ratios)
	t.HasRatio, t.Interval = len(ratios) > 0, v.Method.Rounds > 1
	grid := fmt.Sprintf("g%d", v.grids)
	v.grids++
	t.Grids = s.grid(grid+"a", false) + rs.grid(grid+"b", true)
	t.Axis, t.RatioAxis = s.axis(), rs.axis()
	for _, span := range v.spans() {
		part := plotSpan{Span: spanText(span)}
		for _, c := range cells {
			if c.Span == span {
				part.Rows = append(part.Rows, v.plotRow(c, f, s, rs, grid, most, headline))
			}
		}
		if len(part.Rows) > 0 {
			t.Spans = append(t.Spans, part)
		}
	}
	return t
}

func (v *view) plotRow(c CellResult, f Figure, s, rs scale, grid string, most float64, headline bool) plotRow {
	row := plotRow{Mode: c.Mode, Index: v.index(c.Mode) % shapes}
	name := c.Mode + ", " + spanText(c.Span)
	if stat, ok := c.Figures[f.Name]; ok {
		row.Median = number(stat.Median)
		text := "one round"
		if stat.N > 1 {
			row.Range, row.CV = number(stat.Min)+"–"+number(stat.Max), fmt.Sprintf("%.0f %%", 100*stat.CV)
			text = fmt.Sprintf("median %s, middle half %s–%s, range %s %s, %d rounds", row.Median, number(stat.Q1), number(stat.Q3), row.Range, unitOf(f), stat.N)
		}
		row.Plot = s.row(interval{
			grid: grid + "a", name: name + ": " + f.Name + " " + quantity(stat.Median, f), mode: v.index(c.Mode), dot: stat.Median, text: text,
			wideLow: stat.Min, wideHigh: stat.Max, narrowLow: stat.Q1, narrowHigh: stat.Q3, samples: v.ticks(c.Cell, f),
		})
	}
	if r, ok := c.RatioHost[f.Name]; ok {
		row.Host = number(r.Median) + intervalText(r)
		row.RatioPlot = rs.row(interval{
			grid: grid + "b", name: fmt.Sprintf("%s: %s × host", name, number(r.Median)), mode: v.index(c.Mode), dot: r.Median,
			text:    fmt.Sprintf("%s of the host's %s%s", number(r.Median), f.Name, intervalWords(r)),
			wideLow: r.Low, wideHigh: r.High,
		})
	}
	if r, ok := c.RatioBridge[f.Name]; ok {
		row.Bridge = number(r.Median) + intervalText(r)
	}
	if headline {
		row.HostMark, row.Mark = v.mark(comparisonKey{c.Cell, Control, f.Name}), v.mark(comparisonKey{c.Cell, Reference, f.Name})
		v.cpuBar(&row, c, most)
		row.Remarks = remarks(c)
	}
	return row
}

// remarks returns the remarks that are shown beside a cell.
func remarks(c CellResult) []string {
	var all []string
	if c.Emulated {
		all = append(all, "emulated: it works, no speed")
	}
	if c.Unstable {
		all = append(all, "unstable")
	}
	if n := len(c.Failures); n > 0 {
		all = append(all, fmt.Sprintf("failed %d×", n))
	}
	return all
}

// cpuBar draws the parts of the CPU time, relative to the row with the most.
func (v *view) cpuBar(row *plotRow, c CellResult, most float64) {
	l := v.loadOf(c)
	if l.total() == 0 {
		return
	}
	parts := []float64{l.user, l.system, l.softirq}
	for _, p := range append(slices.Clone(parts), l.steal) {
		row.CPUParts = append(row.CPUParts, fmt.Sprintf("%.2f", p))
	}
	words := fmt.Sprintf("usr %s, sys %s, softirq %s, steal %s of a core", row.CPUParts[0], row.CPUParts[1], row.CPUParts[2], row.CPUParts[3])
	row.CPU = bars(parts, most, fmt.Sprintf("%s, %s: %s cores busy", c.Mode, spanText(c.Span), number(l.total())), words)
	row.PerUnit = perUnit(c, v.figures(c.Cell))
}

// ticks returns the single readings, or nothing if the report is large: they would be most of
// the page.
func (v *view) ticks(c Cell, f Figure) []float64 {
	if len(v.Cells) > ticksAtMost {
		return nil
	}
	return v.values[c][f.Name]
}

const ticksAtMost = 600
