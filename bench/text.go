package bench

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/heddle-network/heddle"
)

// Text writes the report for people: a table for each probe, size and number of pairs. Warnings are
// coloured on a terminal, unless NO_COLOR is set.
func (r *Report) Text(w io.Writer) error {
	colour := isTerminal(w) && os.Getenv("NO_COLOR") == ""
	var b strings.Builder
	fmt.Fprintln(&b, r.methodLine())
	fmt.Fprintln(&b, r.environmentLine())
	if r.Environment.Busy() {
		advice := "trust ratios, not absolute figures"
		if r.Method.Rounds < 2 {
			advice = "with one round nothing is sure, give --rounds 3 or more"
		}
		fmt.Fprintln(&b, "Busy: other programs were using this machine before the start; "+advice)
	}
	for _, p := range r.Probes {
		for _, group := range r.groupsOf(p.Name) {
			b.WriteString("\n" + r.table(group, colour) + "\n")
		}
	}
	if r.Method.Machine != "" {
		fmt.Fprintf(&b, "Places: %s\n", r.Method.Machine)
	}
	b.WriteString(r.publishedText())
	b.WriteString(r.goalsText())
	b.WriteString(r.notes())
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) methodLine() string {
	m := r.Method
	placement := fmt.Sprintf("%s (client CPU %d, server CPU %d)", m.Placement, m.ClientCPU, m.ServerCPU)
	return fmt.Sprintf("Method: %s; %s; congestion control %s; %s of %gs in random order (seed %d), %d more dropped; bridge-nf-call-iptables %s; offered load %d/s",
		m.Wire, placement, m.CongestionControl, heddle.Count(m.Rounds, "round"), m.Seconds, m.Seed, m.WarmupRounds, r.Environment.BridgeNF, m.Load)
}

func (r *Report) environmentLine() string {
	e := r.Environment
	line := fmt.Sprintf("Machine: %s, %d cores, Linux %s; load before %s; %s", e.CPU, e.Cores, e.Kernel, e.Load, e.Start.Format("2006-01-02 15:04 MST"))
	if e.Steal >= 0.1 {
		line += fmt.Sprintf("; %.1f %% stolen by the hypervisor", e.Steal)
	}
	for _, tool := range sortedKeys(e.Tools) {
		line += fmt.Sprintf("; %s %s", tool, e.Tools[tool])
	}
	return line
}

// newTable is a table for people, with the headings as they are written.
func newTable() table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	return t
}

func (r *Report) table(group []CellResult, colour bool) string {
	t := newTable()
	figures := r.figures(group[0].Cell)
	t.SetTitle("%s", title(group[0].Cell, figures[0]))
	head := table.Row{"mode", "span", "n"}
	for _, f := range figures {
		if f.Better != Informative {
			head = append(head, strings.TrimSpace(f.Name+"\n"+strings.Split(f.Unit, ",")[0]))
		}
	}
	spread, interval := "IQR\nmin–max", "\n[95 %]"
	if r.Method.Rounds < 2 { // one value has neither
		spread, interval = "spread", ""
	}
	head = append(head, spread, "÷ host"+interval, "÷ bridge"+interval, "CPU %\nusr+sys+softirq+steal s", "")
	t.AppendHeader(head)
	for _, c := range group {
		t.AppendRow(row(c, figures, colour))
	}
	return t.Render()
}

func title(c Cell, f Figure) string {
	s := c.Probe
	if c.Size > 0 {
		s += fmt.Sprintf(", %d B", c.Size)
	}
	if c.Wire != "" {
		s += ", wire " + c.Wire
	}
	return fmt.Sprintf("%s, %s: %s in %s (%s); spread and ratios are of %s", s, pairsText(c.Pairs), f.Name, f.Unit, f.Better, f.Name)
}

// wireName gives the plain wire a name for people.
func wireName(name string) string {
	if name == "" {
		return "intact"
	}
	return name
}

func row(c CellResult, figures []Figure, colour bool) table.Row {
	head := figures[0].Name
	stat, ok := c.Figures[head]
	out := table.Row{c.Mode, c.Span, stat.N}
	for _, f := range figures {
		if f.Better == Informative {
			continue
		}
		cell := "-"
		if s, ok := c.Figures[f.Name]; ok {
			cell = number(s.Median)
		}
		out = append(out, cell)
	}
	if !ok {
		return append(out, "-", "-", "-", "-", remark(c, colour))
	}
	spread := "one value"
	if stat.N > 1 {
		spread = fmt.Sprintf("%s–%s\n%s–%s", number(stat.Q1), number(stat.Q3), number(stat.Min), number(stat.Max))
	}
	cpu := fmt.Sprintf("%.0f\n%.2f+%.2f+%.2f+%.2f", c.CPU.Percent, c.CPU.User, c.CPU.System, c.CPU.SoftIRQ, c.CPU.Steal)
	return append(out, spread, ratioText(c.RatioHost, head), ratioText(c.RatioBridge, head), cpu, remark(c, colour))
}

func ratioText(ratios map[string]Ratio, name string) string {
	r, ok := ratios[name]
	if !ok {
		return "-"
	}
	if r.N < 2 {
		return fmt.Sprintf("%.2f", r.Median)
	}
	return fmt.Sprintf("%.2f\n[%.2f–%.2f]", r.Median, r.Low, r.High)
}

func remark(c CellResult, colour bool) string {
	words := remarks(c)
	s := strings.Join(words, "\n")
	if colour && s != "" {
		// The library's colours work line by line.
		return text.FgYellow.EscapeSeq() + strings.ReplaceAll(s, "\n", text.Reset.EscapeSeq()+"\n"+text.FgYellow.EscapeSeq()) + text.Reset.EscapeSeq()
	}
	return s
}

// notes are the notes of the columns, and every failure in full.
func (r *Report) notes() string {
	var b strings.Builder
	for _, c := range r.Columns {
		for _, k := range sortedKeys(c.Notes) {
			fmt.Fprintf(&b, "note %s: %s %s\n", columnName(c.Mode, c.Span, c.Wire), k, heddle.Visible(c.Notes[k], false))
		}
	}
	for _, w := range r.Method.Wires {
		fmt.Fprintf(&b, "wire %s: %s\n", wireName(w.Name), w.Note)
	}
	for _, c := range r.Method.Capacities {
		fmt.Fprintf(&b, "capacity %s, %d B, wire %s: %s packets/s (%s)\n", c.Span, c.Size, wireName(c.Wire), number(c.PerSecond), c.Mode)
	}
	for _, what := range r.Method.LeftOut {
		fmt.Fprintf(&b, "left out %s\n", what)
	}
	for _, c := range r.Cells {
		for _, why := range c.Failures {
			fmt.Fprintf(&b, "failed %s: %s\n", c.Cell, heddle.Visible(why, false))
		}
	}
	if b.Len() > 0 {
		return "\n" + b.String()
	}
	return ""
}
