package bench

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/heddle-network/heddle"
)

// Text writes the comparison for people.
func (c Comparison) Text(w io.Writer) error {
	for _, warning := range c.Warnings {
		if _, err := fmt.Fprintln(w, "differs: "+heddle.Visible(warning, false)); err != nil {
			return err
		}
	}
	t := newTable()
	t.AppendHeader(table.Row{"cell", "figure", "first", "second", c.ratioHead(), "the same\n÷ host", "", "verdict"})
	for _, x := range c.Cells {
		t.AppendRow(table.Row{x.Cell, x.Figure + ", " + unitOf(Figure{Unit: x.Unit}), number(x.A), number(x.B),
			x.RatioText(), x.hostText(), x.Better, x.Verdict})
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n", t.Render(), Summary(c.all()))
	return err
}

func (c ComparisonCell) hostText() string {
	if c.HostRatio > 0 {
		return fmt.Sprintf("%.2f", c.HostRatio)
	}
	return "-"
}

func (c Comparison) ratioHead() string {
	if !c.sure() {
		return "second ÷ first"
	}
	return "second ÷ first\n[95 %]"
}
