package bench

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// glanceRow is a probe's outcome over all its sizes, pairs and wires.
type glanceRow struct {
	Title, Better string
	Spans         []glanceSpan
}

// glanceSpan names the winner on one host, or between two.
type glanceSpan struct {
	Span, Winner string
	// Host and Bridge are the winner's mean ratios to these modes.
	Host, Bridge string
	// Level are the modes that do not differ clearly from the winner anywhere.
	Level string
	// Next names the second best mode if the winner is the bridge itself.
	Next string
	// Wins says in how many situations the winner is best, or not clearly different from the best.
	Wins string
	// Ahead is true if there are too few rounds for more than that.
	Ahead  bool
	Strip  template.HTML
	Nobody string
}

func (v *view) glance() []glanceRow {
	var rows []glanceRow
	limits := v.glanceScale()
	for _, p := range v.Probes {
		if len(p.Figures) == 0 {
			continue
		}
		row := glanceRow{Title: descriptionOf(p.Name).title, Better: p.Figures[0].Name + ", " + betterWord(p.Figures[0])}
		for _, span := range v.spans() {
			for _, cells := range v.byWire(v.situationsOf(p.Name, span)) {
				row.Spans = append(row.Spans, v.glanceSpan(cells, p.Figures[0], limits))
			}
		}
		if len(row.Spans) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

func (v *view) spans() []string {
	var all []string
	seen := map[string]bool{}
	for _, c := range v.Cells {
		if !seen[c.Span] {
			seen[c.Span] = true
			all = append(all, c.Span)
		}
	}
	return all
}

func (v *view) situationsOf(probe, span string) []Cell {
	var all []Cell
	for _, c := range v.situations() {
		if c.Probe == probe && c.Span == span {
			all = append(all, c)
		}
	}
	return all
}

// byWire groups situations by their wires: the best mode on one need not be the best on another.
func (v *view) byWire(cells []Cell) [][]Cell {
	var all [][]Cell
	for _, wire := range v.wires() {
		if some := slices.DeleteFunc(slices.Clone(cells), func(c Cell) bool { return c.Wire != wire }); len(some) > 0 {
			all = append(all, some)
		}
	}
	return all
}

// fair returns the situations in which all modes have a reading, leaving out modes without any
// reading: a mode that failed in hard situations must not win by the easy ones. If there is no
// such situation, it returns all.
func (v *view) fair(cells []Cell) []Cell {
	count, most := make([]int, len(cells)), 0
	for _, m := range v.modes {
		some := false
		for i, c := range cells {
			if _, ok := v.standing(withMode(c, m)); ok {
				count[i]++
				some = true
			}
		}
		if some {
			most++
		}
	}
	var all []Cell
	for i, c := range cells {
		if count[i] == most {
			all = append(all, c)
		}
	}
	if all == nil {
		return cells
	}
	return all
}

// mean is a mode's mean standing over situations; NaN if it has none.
func (v *view) mean(cells []Cell, mode string) float64 {
	var all []float64
	for _, c := range v.fair(cells) {
		if s, ok := v.standing(withMode(c, mode)); ok {
			all = append(all, s.Median)
		}
	}
	return geometricMean(all)
}

// glanceScale is the same for all strips, so that they can be compared.
func (v *view) glanceScale() scale {
	far := 1.25
	for _, p := range v.Probes {
		for _, span := range v.spans() {
			for _, m := range v.modes {
				for _, cells := range v.byWire(v.situationsOf(p.Name, span)) {
					if g := v.mean(cells, m); g > 0 {
						far = max(far, g, 1/g)
					}
				}
			}
		}
	}
	far = min(far, 20)
	return scale{1 / far, far, true}
}

func (v *view) glanceSpan(cells []Cell, f Figure, limits scale) glanceSpan {
	out := glanceSpan{Span: spanText(cells[0].Span)}
	if v.several && cells[0].Span != SameHost {
		out.Span += ", " + wireWords(cells[0].Wire)
	}
	var points []point
	var words []string
	top := 0.0
	for i, m := range v.modes {
		g := v.mean(cells, m)
		if math.IsNaN(g) {
			continue
		}
		points = append(points, point{i, g})
		words = append(words, fmt.Sprintf("%s %s × host", m, number(figureRatio(g, f))))
		if m != Control && g > top {
			out.Winner, top = m, g
		}
	}
	if out.Winner == "" {
		out.Nobody = "nothing to compare"
		return out
	}
	out.Host = number(figureRatio(top, f))
	if bridge := v.mean(cells, Reference); bridge > 0 && out.Winner != Reference {
		out.Bridge = number(figureRatio(top/bridge, f))
	}
	out.Level = strings.Join(v.levelWith(cells, out.Winner), " ≈ ")
	if out.Winner == Reference {
		out.Next = v.next(cells, f, top)
	}
	out.Wins, out.Ahead = v.wins(cells, out.Winner), v.fewRounds()
	out.Strip = limits.strip(points, descriptionOf(cells[0].Probe).title+", "+out.Span+": all modes", "Further right is better. "+f.Name+": "+strings.Join(words, "; "))
	return out
}

// figureRatio converts a standing back to a ratio of the figure.
func figureRatio(g float64, f Figure) float64 {
	if f.Better == LowerIsBetter {
		return 1 / g
	}
	return g
}
