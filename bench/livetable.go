package bench

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"golang.org/x/sys/unix"
)

// liveTable shows the latest headline figure of each probe, for each column.
type liveTable struct {
	m      Matrix
	latest map[[2]string]string
	drawn  int // lines to go back up
}

func newLiveTable(m Matrix) *liveTable { return &liveTable{m: m, latest: map[[2]string]string{}} }

func (b *liveTable) put(s Sample) {
	latest := "failed"
	if s.Error == "" {
		latest = number(s.Figures[b.m.probe(s.Cell).Figures()[0].Name])
	}
	b.latest[[2]string{columnName(s.Mode, s.Span, s.Wire), s.Probe}] = latest
}

// draw overwrites the table that was drawn last.
func (b *liveTable) draw(w io.Writer, status string) {
	t := newTable()
	width := terminalWidth(w)
	t.Style().Size.WidthMax = width // a wrapped line could not be overwritten
	head := table.Row{"latest"}
	for _, p := range b.m.Probes {
		head = append(head, fmt.Sprintf("%s\n%s", p.Name(), p.Figures()[0].Unit))
	}
	t.AppendHeader(head)
	for _, c := range b.m.Columns {
		row := table.Row{c.name()}
		for _, p := range b.m.Probes {
			row = append(row, b.latest[[2]string{c.name(), p.Name()}])
		}
		t.AppendRow(row)
	}
	picture := t.Render() + "\n" + truncate(status, width) + "\n"
	if b.drawn > 0 {
		fmt.Fprintf(w, "\x1b[%dA\x1b[J", b.drawn)
	}
	fmt.Fprint(w, picture)
	b.drawn = strings.Count(picture, "\n")
}

func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
			return int(size.Col)
		}
	}
	return 80
}

func truncate(s string, width int) string {
	if r := []rune(s); len(r) >= width {
		return string(r[:width-1])
	}
	return s
}
