package bench

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// section is a probe's part of the page.
type section struct {
	Anchor, Title, Tells, Tool string
	Trends                     []trend
	Groups                     []group
}

// group is one table: one probe, size, number of pairs and wire, with all modes and spans.
type group struct {
	Anchor, Title, Summary string
	Open                   bool
	Plots                  []plotTable
	Numbers                *numberTable
}

// plotTable shows one figure.
type plotTable struct {
	Caption, Unit, Better string
	Headline              bool
	Grids                 template.HTML
	Axis, RatioAxis       template.HTML
	HasRatio, Interval    bool
	CPU                   bool
	Spans                 []plotSpan
}

type plotSpan struct {
	Span string
	Rows []plotRow
}

type plotRow struct {
	Mode              string
	Index             int
	Plot              template.HTML
	Median, Range, CV string
	RatioPlot         template.HTML
	Host, Bridge      string
	HostMark, Mark    string
	CPU               template.HTML
	CPUParts          []string // usr, sys, softirq, steal, in cores
	PerUnit           string
	Remarks           []string
}

// plotsAtMost is the largest number of figures and cells for which figures other than the headline
// are plotted, too. A larger report has only numbers for them.
const plotsAtMost = 800

func (v *view) sections() []section {
	total := 0
	for _, c := range v.Cells {
		total += len(c.Figures)
	}
	var all []section
	for _, p := range v.Probes {
		s := descriptionOf(p.Name)
		sec := section{Anchor: slug(p.Name), Title: s.title, Tells: s.tells, Tool: p.Name}
		groups := v.groupsOf(p.Name)
		for i, cells := range groups {
			open := len(groups) <= 4 || i == 0
			sec.Groups = append(sec.Groups, v.group(cells, open, total <= plotsAtMost))
		}
		sec.Trends = v.trends(p)
		if len(sec.Groups) > 0 {
			all = append(all, sec)
		}
	}
	return all
}

func (v *view) group(cells []CellResult, open, all bool) group {
	first := cells[0].Cell
	g := group{Anchor: anchorOf(first), Title: situationText(first, v.several), Summary: v.groupSummary(cells), Open: open}
	lesser := &numberTable{}
	for i, f := range v.figures(first) {
		switch {
		case !slices.ContainsFunc(cells, func(c CellResult) bool { _, ok := c.Figures[f.Name]; return ok || i == 0 }):
			// a figure without any reading is left out
		case i == 0 || (all && f.Better != Informative && v.varies(cells, f)):
			g.Plots = append(g.Plots, v.plotTable(cells, f, i == 0))
		default:
			lesser.Figures = append(lesser.Figures, f)
		}
	}
	if len(lesser.Figures) > 0 {
		lesser.fill(cells)
		g.Numbers = lesser
	}
	return g
}

// varies reports whether the figure differs anywhere. If not (nothing was lost), it is not plotted.
func (v *view) varies(cells []CellResult, f Figure) bool {
	seen := map[float64]bool{}
	for _, c := range cells {
		if s, ok := c.Figures[f.Name]; ok {
			seen[s.Min], seen[s.Max] = true, true
		}
	}
	return len(seen) > 1
}

func (v *view) groupSummary(cells []CellResult) string {
	var parts []string
	for _, span := range v.spans() {
		for _, c := range cells {
			if c.Span != span {
				continue
			}
			if best, tied := v.best(withoutMode(c.Cell)); best != "" {
				word := spanText(span) + ": " + best
				switch {
				case v.fewRounds():
					word += " ahead"
				case len(tied) > 0:
					word += " (level with " + strings.Join(tied, ", ") + ")"
				}
				parts = append(parts, word)
			}
			break
		}
	}
	return strings.Join(parts, " · ")
}

// numberTable gives figures in numbers only.
type numberTable struct {
	Figures []Figure
	Rows    []numberRow
}

type numberRow struct {
	Mode, Span string
	Values     []string
}

func (t *numberTable) fill(cells []CellResult) {
	for _, c := range cells {
		row := numberRow{Mode: c.Mode, Span: spanText(c.Span)}
		for _, f := range t.Figures {
			text := "–"
			if s, ok := c.Figures[f.Name]; ok {
				text = quantity(s.Median, f)
				if s.Min != s.Max {
					text += fmt.Sprintf(" (%s–%s)", number(s.Min), number(s.Max))
				}
			}
			row.Values = append(row.Values, text)
		}
		t.Rows = append(t.Rows, row)
	}
}

func anchorOf(c Cell) string {
	return slug(fmt.Sprintf("%s-%d-%d-%s", c.Probe, c.Size, c.Pairs, c.Wire))
}

// slug keeps what is safe in an anchor.
func slug(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, s), "-")
}
