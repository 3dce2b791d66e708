package bench

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// Each row of a plot is a picture of its own, as wide as its column. Horizontal positions are
// percentages, so that a narrow page shrinks the distances but not the letters and markers.

// interval is what one row of a dot plot shows.
type interval struct {
	name string // the name of the row, for screen readers
	text string // the numbers in words
	mode int    // the index that chooses colour and shape
	dot  float64
	// wide is drawn thin, narrow thick.
	wideLow, wideHigh     float64
	narrowLow, narrowHigh float64
	samples               []float64
	grid                  string // the id of the vertical lines
}

func line(b *strings.Builder, class string, x1, x2 float64, y1, y2 float64) {
	fmt.Fprintf(b, `<line class="%s" x1="%s" x2="%s" y1="%g" y2="%g"/>`, class, coordinate(x1), coordinate(x2), y1, y2)
}

func openSVG(b *strings.Builder, height int, title, desc string) {
	fmt.Fprintf(b, `<svg class="plot" role="img" width="100%%" height="%d"><title>%s</title>`, height, template.HTMLEscapeString(title))
	if desc != "" {
		fmt.Fprintf(b, `<desc>%s</desc>`, template.HTMLEscapeString(desc))
	}
}

func marker(b *strings.Builder, mode int, at float64, y int) {
	fmt.Fprintf(b, `<use href="#s%d" class="m%d" x="%s" y="%d"/>`, mode%shapes, mode%shapes, coordinate(at), y)
}

// row draws one interval.
func (s scale) row(v interval) template.HTML {
	const height, middle = 22, 11
	var b strings.Builder
	openSVG(&b, height, v.name, v.text)
	fmt.Fprintf(&b, `<use href="#%s"/>`, v.grid)
	class := fmt.Sprintf("m%d", v.mode%shapes)
	line(&b, "w "+class, s.percent(v.wideLow), s.percent(v.wideHigh), middle, middle)
	if v.narrowHigh > v.narrowLow {
		line(&b, "n "+class, s.percent(v.narrowLow), s.percent(v.narrowHigh), middle, middle)
	}
	for _, x := range v.samples {
		line(&b, "r", s.percent(x), s.percent(x), 17, 21)
	}
	marker(&b, v.mode, s.percent(v.dot), middle)
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// grid defines the vertical lines that every row repeats. They extend beyond a row, so that
// they meet those of the next row.
func (s scale) grid(id string, one bool) template.HTML {
	const above, below = -10, 32
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="defs" aria-hidden="true" width="0" height="0"><defs><g id="%s">`, id)
	for _, t := range s.ticks() {
		line(&b, "g", s.percent(t), s.percent(t), above, below)
	}
	if one {
		line(&b, "one", s.percent(1), s.percent(1), above, below)
	}
	b.WriteString("</g></defs></svg>")
	return template.HTML(b.String())
}

// axis draws as many labels of ticks as fit. Screen readers find the numbers in every row.
func (s scale) axis() template.HTML {
	var b strings.Builder
	b.WriteString(`<svg class="plot" aria-hidden="true" width="100%" height="16">`)
	last := -100.0
	for _, t := range s.ticks() {
		at := s.percent(t)
		if at-last < 17 {
			continue
		}
		last = at
		fmt.Fprintf(&b, `<text x="%s" y="12" text-anchor="%s">%s</text>`, coordinate(at), anchor(at), tickLabel(t))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// point is a marker of a strip.
type point struct {
	mode int
	at   float64
}

// strip draws several modes on one line. Markers that would overlap are stacked.
func (s scale) strip(points []point, title, desc string) template.HTML {
	const lane, below = 13, 22
	at := make([]float64, len(points))
	for i, p := range points {
		at[i] = s.percent(p.at)
	}
	up, lanes := stack(at)
	base := lanes*lane - 2
	var b strings.Builder
	openSVG(&b, base+below, title, desc)
	line(&b, "base", plotMargin, 100-plotMargin, float64(base), float64(base))
	line(&b, "one", s.percent(1), s.percent(1), 1, float64(base+9))
	fmt.Fprintf(&b, `<text x="%s" y="%d" text-anchor="%s">host</text>`, coordinate(s.percent(1)), base+18, anchor(s.percent(1)))
	for i, p := range points {
		marker(&b, p.mode, at[i], base-up[i]*lane)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// markerWide is how wide a marker is, in percent of a strip on a telephone.
const markerWide = 5

// stack returns how high each marker has to be so that none overlaps another, and the number of
// lanes.
func stack(at []float64) (up []int, lanes int) {
	up, lanes = make([]int, len(at)), 1
	for i := range at {
		for taken := true; taken; {
			taken = false
			for j := range i {
				if up[j] == up[i] && math.Abs(at[j]-at[i]) < markerWide {
					up[i]++
					taken = true
				}
			}
		}
		lanes = max(lanes, up[i]+1)
	}
	return up, lanes
}

func anchor(percent float64) string {
	switch {
	case percent < 8:
		return "start"
	case percent > 92:
		return "end"
	}
	return "middle"
}

// bars draws parts of a whole beside each other; full is the length of a row.
func bars(parts []float64, full float64, title, desc string) template.HTML {
	var b strings.Builder
	openSVG(&b, 10, title, desc)
	at := 0.0
	for i, p := range parts {
		wide := 100 * p / full
		if wide > 0 {
			fmt.Fprintf(&b, `<rect class="c%d" x="%s" width="%s" y="0" height="10"/>`, i, coordinate(at), coordinate(wide))
		}
		at += wide
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// shapes is how many pairs of colour and shape there are.
const shapes = 8
