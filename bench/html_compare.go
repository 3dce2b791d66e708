package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
)

// comparePage is what the template of a comparison shows.
type comparePage struct {
	CSS      template.CSS
	Symbols  template.HTML
	Summary  string
	Warnings []string
	Worse    []changeRow
	Better   []changeRow
	// Lesser counts the clear changes of figures other than the headline.
	Lesser    int
	Probes    []compareProbe
	Settings  []settingRow
	Downloads []download
}

type changeRow struct{ Name, Figure, Way, Ratio, Host string }

type compareProbe struct {
	Title  string
	Tables []compareTable
}

type compareTable struct {
	Caption, Unit, Better string
	Grids                 template.HTML
	Axis, RatioAxis       template.HTML
	Rows                  []compareRow
}

type compareRow struct {
	Name, A, B, Ratio, Verdict string
	First, Second, RatioPlot   template.HTML
}

type settingRow struct{ What, A, B string }

// HTML writes the two reports side by side, as one page without other files.
func (c Comparison) HTML(w io.Writer) error {
	p := comparePage{CSS: css(), Symbols: symbols(), Summary: Summary(c.all()), Warnings: c.Warnings}
	p.Worse, p.Better, p.Lesser = c.changes(Worse), c.changes(Better), c.lesser()
	for _, probe := range c.b.Probes {
		if tables := c.tables(probe); len(tables) > 0 {
			p.Probes = append(p.Probes, compareProbe{descriptionOf(probe.Name).title, tables})
		}
	}
	for _, s := range append(methodSettings(c.a, c.b), machineSettings(c.a, c.b)...) {
		p.Settings = append(p.Settings, settingRow{s.what, s.a, s.b})
	}
	p.Settings = append(p.Settings, settingRow{"date", c.a.Environment.Start.Format("2006-01-02 15:04 MST"), c.b.Environment.Start.Format("2006-01-02 15:04 MST")},
		settingRow{"rounds", fmt.Sprint(c.a.Method.Rounds), fmt.Sprint(c.b.Method.Rounds)}, settingRow{"command", c.a.Environment.Command, c.b.Environment.Command})
	for _, d := range []struct {
		name string
		v    any
	}{{"first.json.gz", c.a}, {"second.json.gz", c.b}, {"comparison.json.gz", c}} {
		raw, err := json.Marshal(d.v)
		if err != nil {
			return fail("write", d.name, err)
		}
		p.Downloads = append(p.Downloads, embedFile(d.name, raw))
	}
	return execute(w, "compare.tmpl", p)
}

// changes are the clear changes of the headlines, the largest first.
func (c Comparison) changes(verdict string) []changeRow {
	var cells []ComparisonCell
	for _, x := range c.Cells {
		if x.Headline && x.Verdict == verdict {
			cells = append(cells, x)
		}
	}
	slices.SortStableFunc(cells, func(a, b ComparisonCell) int {
		return cmp.Compare(math.Abs(math.Log(b.Ratio)), math.Abs(math.Log(a.Ratio)))
	})
	var all []changeRow
	for _, x := range cells {
		all = append(all, changeRow{cellWords(x.Cell), x.Figure, betterWord(Figure{Better: x.Better}), x.ratioText(), x.hostText()})
	}
	return all
}

func (c Comparison) lesser() int {
	n := 0
	for _, x := range c.Cells {
		if !x.Headline && (x.Verdict == Worse || x.Verdict == Better) {
			n++
		}
	}
	return n
}

func (c ComparisonCell) ratioText() string {
	return fmt.Sprintf("%s [%s–%s]", number(c.Ratio), number(c.Low), number(c.High))
}

// tables returns the tables of a probe, one for each figure.
func (c Comparison) tables(p ProbeInfo) []compareTable {
	var all []compareTable
	x, y := c.a.byCell(), c.b.byCell()
	for _, f := range p.Figures {
		var cells []ComparisonCell
		var values, ratios []float64
		for _, one := range c.Cells {
			if one.Probe == p.Name && one.Figure == f.Name {
				a, b := x[one.Cell].Figures[f.Name], y[one.Cell].Figures[f.Name]
				cells, values = append(cells, one), append(values, a.Min, a.Max, b.Min, b.Max)
				ratios = append(ratios, one.Low, one.High)
			}
		}
		if cells == nil {
			continue
		}
		s, rs := newScale(values), ratioScale(ratios)
		grid := slug(p.Name + "-" + f.Name)
		t := compareTable{Caption: captionOf(f), Unit: unitOf(f), Better: betterWord(f), Axis: s.axis(), RatioAxis: rs.axis(),
			Grids: s.grid(grid+"a", false) + rs.grid(grid+"b", true)}
		for _, one := range cells {
			t.Rows = append(t.Rows, one.row(f, grid, s, rs, x[one.Cell].Figures[f.Name], y[one.Cell].Figures[f.Name]))
		}
		all = append(all, t)
	}
	return all
}

func (c ComparisonCell) row(f Figure, grid string, s, rs scale, a, b Stat) compareRow {
	one := func(side string, stat Stat, index int) template.HTML {
		return s.row(interval{
			grid: grid + "a", name: fmt.Sprintf("%s, %s: %s %s", c.Cell, side, f.Name, quantity(stat.Median, f)), mode: index, dot: stat.Median,
			text:    fmt.Sprintf("range %s–%s, %d rounds", number(stat.Min), number(stat.Max), stat.N),
			wideLow: stat.Min, wideHigh: stat.Max, narrowLow: stat.Q1, narrowHigh: stat.Q3,
		})
	}
	ratio := rs.row(interval{
		grid: grid + "b", name: fmt.Sprintf("%s: second ÷ first %s", c.Cell, number(c.Ratio)), text: fmt.Sprintf("95 %% interval %s to %s; %s", number(c.Low), number(c.High), c.Verdict),
		mode: 1, dot: c.Ratio, wideLow: c.Low, wideHigh: c.High,
	})
	return compareRow{rowWords(c.Cell), number(c.A), number(c.B), c.ratioText(), c.Verdict, one("first", a, 0), one("second", b, 1), ratio}
}

// rowWords names a row of a table. The table's title names the probe.
func rowWords(c Cell) string {
	return fmt.Sprintf("%s, %s, %s", c.Mode, spanText(c.Span), situationText(c, c.Wire != ""))
}
