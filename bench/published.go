package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Published holds the published results of a preset's source. Absolute figures depend on its
// hardware; only ratios can be compared with ours.
type Published struct {
	Title  string
	Source string
	Rig    string
	// Statements say how the source's figures must be read.
	Statements []string
	Tables     []PublishedTable
	Ratios     []PublishedRatio
}

// PublishedTable is a table as it was printed, with what we compute from it.
type PublishedTable struct {
	Title string
	Head  []string
	Rows  [][]string
}

// PublishedRatio is one mode divided by another, and where the values were published.
type PublishedRatio struct {
	// Where is the figure or table of the source.
	Where string
	What  string
	// Over is the divisor's mode.
	Over string
	// Cell is our cell for comparison: its Probe is the prefix of a name, its Mode the
	// dividend's.
	Cell
	// Figure is our figure; "" is the probe's headline.
	Figure string
	// A divided by B, in Unit; both are 0 if the source gives only the ratio.
	A, B float64
	Unit string
	// Ratio is the printed ratio, if there is no A and B.
	Ratio float64
	Note  string
}

// Value returns the published ratio.
func (p PublishedRatio) Value() float64 {
	if p.B != 0 {
		return p.A / p.B
	}
	return p.Ratio
}

// Absolute is the division in numbers; "" if the source gives only the ratio.
func (p PublishedRatio) Absolute() string {
	if p.B == 0 {
		return ""
	}
	return fmt.Sprintf("%s ÷ %s %s", number(p.A), number(p.B), p.Unit)
}

// PublishedFigures returns what the source of a preset printed; ok is false for a
// preset that has none.
func PublishedFigures(preset string) (p Published, ok bool) {
	switch preset {
	case "lxc2019":
		return publishedLXC(), true
	case "ecs-multinic":
		return publishedECS(slices.Concat(ecsMeasured(), ecsPages(), ecsStoreRatios())), true
	case "ladder":
		return publishedECS(append(ecsLadder(), ecsStoreRatios()...)), true
	case "weave-fastdp":
		return publishedWeave(), true
	case "docker-overlay":
		return publishedDocker(), true
	}
	return Published{}, false
}

// ours is the same ratio in a report; ok is false if one of the cells is missing there, or failed.
func (r *Report) ours(p PublishedRatio, all map[Cell]readings) (Ratio, bool) {
	i := slices.IndexFunc(r.Probes, func(x ProbeInfo) bool { return strings.HasPrefix(x.Name, p.Probe) })
	if i < 0 || len(r.Probes[i].Figures) == 0 {
		return Ratio{}, false
	}
	c, figure := p.Cell, p.Figure
	c.Probe = r.Probes[i].Name
	if figure == "" {
		figure = r.Probes[i].Figures[0].Name
	}
	return PairedRatio(all[c][figure], all[withMode(c, p.Over)][figure], r.Method.Seed)
}

// publishedLine is a published ratio with ours beside it.
type publishedLine struct {
	PublishedRatio
	Theirs string
	Ours   string
	// Same says whether both point in the same direction.
	Same string
}

// beside returns the published ratios, each with ours.
func (r *Report) beside(p Published) []publishedLine {
	all := collect(r.Samples)
	var lines []publishedLine
	for _, x := range p.Ratios {
		l := publishedLine{PublishedRatio: x, Theirs: fmt.Sprintf("%.2f", x.Value()), Ours: "not in this run"}
		if ours, ok := r.ours(x, all); ok {
			l.Ours = fmt.Sprintf("%.2f", ours.Median)
			if ours.N > 1 {
				l.Ours += fmt.Sprintf(" [%.2f–%.2f]", ours.Low, ours.High)
			}
			if l.Same = agreement(x.Value(), ours); r.emulated() {
				l.Same = "emulated: no speed"
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// agreement compares only directions, since the sizes of effects depend on the hardware.
func agreement(theirs float64, ours Ratio) string {
	switch {
	case ours.Low <= theirs && theirs <= ours.High:
		return "same, within our interval"
	case ours.Low <= 1 && ours.High >= 1:
		return "ours shows no difference"
	case (theirs > 1) == (ours.Median > 1):
		return "same direction"
	case theirs == 1:
		return "ours shows a difference"
	}
	return "opposite direction"
}

// publishedText is the published part of the report for people; "" if the
// preset has none.
func (r *Report) publishedText() string {
	p, ok := PublishedFigures(r.Method.Preset)
	if !ok {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n%s\n%s\n", p.Title, p.Source, p.Rig)
	for _, s := range p.Statements {
		fmt.Fprintf(&b, "- %s\n", s)
	}
	t := newTable()
	t.AppendHeader(table.Row{"source", "what", "ratio", "published", "ours\n[95 %]", ""})
	for _, l := range r.beside(p) {
		t.AppendRow(table.Row{l.Where, l.What, l.Mode + " ÷ " + l.Over, l.Theirs, l.Ours, l.Same})
	}
	fmt.Fprintln(&b, t.Render())
	for _, x := range p.Tables {
		fmt.Fprintln(&b, x.render())
	}
	return b.String()
}

func (x PublishedTable) render() string {
	t := newTable()
	t.SetTitle("%s", x.Title)
	t.AppendHeader(anyRow(x.Head))
	for _, row := range x.Rows {
		t.AppendRow(anyRow(row))
	}
	return t.Render()
}

func anyRow(cells []string) table.Row {
	var row table.Row
	for _, c := range cells {
		row = append(row, c)
	}
	return row
}
