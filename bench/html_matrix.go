package bench

import (
	"fmt"
	"slices"
)

// matrixTable shows the headline figure of every situation on one wire.
type matrixTable struct {
	Caption string
	Heads   []legend
	Groups  []matrixGroup
}

type matrixGroup struct {
	Title, Better, Unit string
	// Columns is the number of columns of the table, including that of the situations.
	Columns int
	Rows    []matrixRow
}

type matrixRow struct {
	Situation string
	Anchor    string
	Cells     []matrixCell
}

// matrixCell is one mode in one situation.
type matrixCell struct {
	Mode     string
	Index    int
	Value    string
	Host     string
	Bridge   string
	HostMark string
	Mark     string // the mark of Bridge
	// Word is "best", "level" or "yardstick".
	Word string
	// Bar is the length in percent: the value as a part of the row's largest.
	Bar    string
	Failed string
	Shaky  bool
}

func (v *view) matrix() []matrixTable {
	var tables []matrixTable
	for _, wire := range v.wires() {
		t := matrixTable{Heads: v.legend()}
		if v.several {
			t.Caption = wireWords(wire)
		}
		for _, p := range v.Probes {
			for _, span := range v.spans() {
				if g := v.matrixGroup(p, span, wire); len(g.Rows) > 0 {
					t.Groups = append(t.Groups, g)
				}
			}
		}
		tables = append(tables, t)
	}
	return tables
}

func (v *view) wires() []string {
	var all []string
	for _, c := range v.Cells {
		if !slices.Contains(all, c.Wire) {
			all = append(all, c.Wire)
		}
	}
	return all
}

func (v *view) matrixGroup(p ProbeInfo, span, wire string) matrixGroup {
	g := matrixGroup{Columns: len(v.modes) + 1, Title: descriptionOf(p.Name).title + ", " + spanText(span)}
	for _, c := range v.situationsOf(p.Name, span) {
		if c.Wire != wire {
			continue
		}
		f := v.headline(c)
		g.Better, g.Unit = f.Name+", "+betterWord(f), unitOf(f)
		g.Rows = append(g.Rows, matrixRow{Situation: situationText(c, false), Anchor: anchorOf(c), Cells: v.matrixCells(c, f)})
	}
	return g
}

func (v *view) matrixCells(situation Cell, f Figure) []matrixCell {
	best, tied := v.best(situation)
	most := 0.0
	for _, m := range v.modes {
		most = max(most, v.cells[withMode(situation, m)].Figures[f.Name].Median)
	}
	var all []matrixCell
	for i, m := range v.modes {
		c := withMode(situation, m)
		x := matrixCell{Mode: m, Index: i % shapes}
		r, there := v.cells[c]
		stat, ok := r.Figures[f.Name]
		if !ok {
			x.Failed = "not run"
			if there {
				x.Failed = "failed"
			}
			all = append(all, x)
			continue
		}
		x.Value, x.Shaky = number(stat.Median), r.Unstable
		x.Host, x.HostMark = v.ratioWord(c, Control, r.RatioHost, f)
		x.Bridge, x.Mark = v.ratioWord(c, Reference, r.RatioBridge, f)
		if most > 0 {
			x.Bar = fmt.Sprintf("%.1f", 100*stat.Median/most)
		}
		switch {
		case m == Control:
			x.Word = "yardstick"
		case m == best && v.fewRounds():
			x.Word = "ahead"
		case m == best && len(tied) == 0:
			x.Word = "best"
		case m == best || slices.Contains(tied, m):
			x.Word = "level"
		}
		all = append(all, x)
	}
	return all
}

// enoughRounds is the least number of rounds that may show an order: one round has no interval, and
// a difference between two proves nothing.
const enoughRounds = 3

func (v *view) fewRounds() bool { return v.Method.Rounds < enoughRounds }

// ratioWord writes a ratio and the outcome of its test.
func (v *view) ratioWord(c Cell, other string, ratios map[string]Ratio, f Figure) (text, mark string) {
	r, ok := ratios[f.Name]
	if !ok {
		return "", ""
	}
	return number(r.Median), v.mark(comparisonKey{c, other, f.Name})
}

// mark is "*" for a clear difference, "~" for none, and "" if there are too few rounds for the
// test.
func (v *view) mark(t comparisonKey) string {
	p, ok := v.verdicts.p[t]
	switch {
	case !ok || !v.verdicts.power[t.mode]:
		return ""
	case p < Alpha:
		return "*"
	}
	return "~"
}
