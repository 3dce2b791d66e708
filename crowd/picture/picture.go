// Package picture draws a crowd's report: how long people waited for what they did, on each network mode.
package picture

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle/crowd/report"
)

// row is an action; spots are the modes that have it.
type row struct {
	label string
	spots []spot
}

// spot is how long people waited in a mode, in nanoseconds: the median of the rounds, and the least and the most.
type spot struct {
	mode              int // in the order of the report
	median, low, high float64
}

// The measures of a picture, in pixels.
const (
	labelWide, plotWide, edge = 150, 560, 16
	headHigh, rowHigh         = 78, 30
	footHigh                  = 40
	wide                      = labelWide + plotWide + 2*edge
)

// looks are the colours of modes, and the paths of their marks around 0, 0. Each mark has a form of its own, for those who see
// few colours.
var looks = []struct{ colour, path string }{
	{"#0072b2", "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z"},
	{"#d55e00", "M-4.5 -4.5h9v9h-9z"},
	{"#009e73", "M0 -6L6 0L0 6L-6 0z"},
	{"#aa4499", "M0 -5.5L6 5H-6z"},
	{"#5c636e", "M0 5.5L6 -5H-6z"},
}

// SVG draws the report as SVG: a line for each action, a mark for each mode where the wait of 99 of a hundred steps ended, on a
// logarithmic scale. A line through a mark goes from the least of all rounds to the most.
func SVG(r report.Report) (string, error) {
	modes, rows := r.Played(), rowsOf(r)
	if len(rows) == 0 || len(modes) > len(looks) {
		return "", fmt.Errorf("it has %d actions that people waited for in %d modes; a picture has one or more, and up to %d", len(rows), len(modes), len(looks))
	}
	scale := scaleOf(rows)
	high := headHigh + len(rows)*rowHigh + footHigh
	var b strings.Builder
	title := fmt.Sprintf("How long %d people waited, by network mode", r.Users)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="sans-serif" font-size="13" fill="#1b1e23">`+"\n", wide, high, wide, high)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", html.EscapeString(title), html.EscapeString(told(modes, rows)), wide, high)
	text(&b, edge, 24, `font-size="16" font-weight="bold"`, title)
	text(&b, edge, 44, `fill="#5c636e"`, fmt.Sprintf("99 of a hundred were served within this time; crowd %s, seed %d, %s of %s", r.Crowd, r.Seed, rounds(r.Numbers()), r.Length))
	x := edge
	for i, m := range modes {
		mark(&b, i, float64(x+6), 62)
		text(&b, x+18, 66, "", m)
		x += 34 + 8*len(m)
	}
	bottom := headHigh + len(rows)*rowHigh
	for _, at := range scale.ticks() {
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#e2e5ea"/>`+"\n", scale.x(at), headHigh, bottom)
		text(&b, int(scale.x(at)), bottom+18, `text-anchor="middle" fill="#5c636e"`, time.Duration(at).String())
	}
	for i, row := range rows {
		row.draw(&b, headHigh+i*rowHigh+rowHigh/2, scale)
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

func rounds(n int) string {
	if n == 1 {
		return "one round"
	}
	return fmt.Sprintf("%d rounds", n)
}

// rowsOf are the actions that people waited for, in the order of the report.
func rowsOf(r report.Report) (rows []row) {
	for _, f := range r.Figures() {
		if f.Action == "" || f.Metric != "p99" || strings.HasPrefix(f.Action, "mistake.") {
			continue
		}
		one := row{label: f.Action}
		for i, m := range r.Played() {
			all := r.Values(m, f.Value)
			if median, has := r.Median(m, f.Value); has && median > 0 {
				one.spots = append(one.spots, spot{i, median, slices.Min(all), slices.Max(all)})
			}
		}
		if one.spots != nil {
			rows = append(rows, one)
		}
	}
	return rows
}

func (r row) draw(b *strings.Builder, y int, s scale) {
	fmt.Fprintf(b, `<path d="M%d %dH%d" stroke="#eceef1"/>`+"\n", edge, y+rowHigh/2, wide-edge)
	text(b, edge, y+4, "", r.label)
	for i, p := range r.spots {
		at := float64(y) + 4*(float64(i)-float64(len(r.spots)-1)/2) // beside each other, lest one hides another
		fmt.Fprintf(b, `<path d="M%.1f %.1fH%.1f" stroke="%s" stroke-width="2" stroke-opacity="0.45"/>`+"\n", s.x(p.low), at, s.x(p.high), looks[p.mode].colour)
		mark(b, p.mode, s.x(p.median), at)
	}
}

func mark(b *strings.Builder, mode int, x, y float64) {
	fmt.Fprintf(b, `<path transform="translate(%.1f %.1f)" d="%s" fill="%s" fill-opacity="0.85"/>`+"\n", x, y, looks[mode].path, looks[mode].colour)
}

func text(b *strings.Builder, x, y int, with, words string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, with, html.EscapeString(words))
}

// told is the picture in words, for who does not see it.
func told(modes []string, rows []row) string {
	var all []string
	for _, r := range rows {
		var of []string
		for _, p := range r.spots {
			of = append(of, modes[p.mode]+" "+time.Duration(p.median).Round(10*time.Microsecond).String())
		}
		all = append(all, r.label+": "+strings.Join(of, ", "))
	}
	return strings.Join(all, "; ") + "."
}
