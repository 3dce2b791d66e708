package bench

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// trend shows the ratios of the modes at growing sizes.
type trend struct {
	Title string
	Plot  template.HTML
}

// trends returns the trends of a probe with at least three sizes, one for each span, number of
// pairs and wire.
func (v *view) trends(p ProbeInfo) []trend {
	var all []trend
	for _, wire := range v.wires() {
		for _, span := range v.spans() {
			byPairs := map[int][]Cell{}
			for _, c := range v.situationsOf(p.Name, span) {
				if c.Wire == wire && c.Size > 0 {
					byPairs[c.Pairs] = append(byPairs[c.Pairs], c)
				}
			}
			for _, pairs := range sortedKeys(byPairs) {
				if cells := byPairs[pairs]; len(cells) >= 3 {
					slices.SortFunc(cells, func(a, b Cell) int { return a.Size - b.Size })
					title := spanText(span) + ", " + pairsText(pairs)
					if v.several {
						title += ", " + wireWords(wire)
					}
					all = append(all, trend{title, v.trendPlot(cells, title)})
				}
			}
		}
	}
	return all
}

// trendPlot has the sizes at equal distances on the horizontal axis, and the figure's ratio to
// the host's on the vertical one, where up is better.
func (v *view) trendPlot(cells []Cell, title string) template.HTML {
	const height, top, bottom = 170, 10, 140
	var all []float64
	for _, c := range cells {
		for _, m := range v.modes {
			if s, ok := v.standing(withMode(c, m)); ok {
				all = append(all, s.Median)
			}
		}
	}
	s := ratioScale(all)
	y := func(r float64) float64 { return bottom - (s.percent(r)-plotMargin)/(100-2*plotMargin)*(bottom-top) }
	x := func(i int) float64 { return 14 + 80*float64(i)/float64(len(cells)-1) }
	var b strings.Builder
	openSVG(&b, height, title+": standing by size", v.trendWords(cells))
	for _, t := range s.ticks() {
		line(&b, "g", 8, 98, y(t), y(t))
		fmt.Fprintf(&b, `<text x="7%%" y="%.1f" text-anchor="end">%s</text>`, y(t)+4, tickLabel(t))
	}
	line(&b, "one", 8, 98, y(1), y(1))
	for i, c := range cells {
		fmt.Fprintf(&b, `<text x="%s" y="%d" text-anchor="middle">%s</text>`, coordinate(x(i)), bottom+20, sizeTick(c.Size))
	}
	for i, m := range v.modes {
		v.trendLine(&b, cells, i, m, x, y)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

func (v *view) trendLine(b *strings.Builder, cells []Cell, mode int, name string, x func(int) float64, y func(float64) float64) {
	last := -1
	for i, c := range cells {
		s, ok := v.standing(withMode(c, name))
		if !ok {
			continue
		}
		if last >= 0 {
			before, _ := v.standing(withMode(cells[last], name))
			line(b, fmt.Sprintf("t m%d", mode%shapes), x(last), x(i), y(before.Median), y(s.Median))
		}
		last = i
	}
	for i, c := range cells {
		if s, ok := v.standing(withMode(c, name)); ok {
			fmt.Fprintf(b, `<use href="#s%d" class="m%d" x="%s" y="%.1f"/>`, mode%shapes, mode%shapes, coordinate(x(i)), y(s.Median))
		}
	}
}

func (v *view) trendWords(cells []Cell) string {
	var words []string
	for _, m := range v.modes {
		var at []string
		for _, c := range cells {
			if s, ok := v.standing(withMode(c, m)); ok {
				at = append(at, fmt.Sprintf("%s %s", sizeText(c.Size), number(s.Median)))
			}
		}
		if at != nil && m != Control {
			words = append(words, m+": "+strings.Join(at, ", "))
		}
	}
	return "Ratio to host, turned so that more is better. " + strings.Join(words, "; ")
}

func sizeTick(bytes int) string {
	if bytes >= 1024 && bytes%1024 == 0 {
		return fmt.Sprintf("%dK", bytes/1024)
	}
	return fmt.Sprint(bytes)
}
