package main

import (
	"io"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// gap is what stands between two columns.
const gap = "   "

// narrowest is the width below which no column is squeezed.
const narrowest = 8

// writeTable writes rows under a head, or without one, no wider than width (0:
// any): the widest columns are folded.
func writeTable(w io.Writer, width int, head []string, rows [][]string) error {
	t := table.NewWriter()
	t.SetStyle(plain())
	t.SuppressTrailingSpaces()
	if len(head) > 0 {
		t.AppendHeader(row(head))
	}
	for _, r := range rows {
		t.AppendRow(row(r))
	}
	t.SetColumnConfigs(limits(fit(columns(head, rows), width)))
	_, err := io.WriteString(printTo(w), t.Render()+"\n")
	return err
}

// lineEnd ends a line within a cell. Text of others cannot contain it.
var lineEnd = paint("end")

func plain() table.Style {
	return table.Style{
		Name:   "plain",
		Box:    table.BoxStyle{PaddingRight: gap},
		Format: table.FormatOptions{Header: text.FormatUpper},
	}
}

func row(cells []string) table.Row {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		r[i] = strings.ReplaceAll(line(c), lineEnd, "\n")
		if c == "" {
			r[i] = "-"
		}
	}
	return r
}

// column is the width of a column's widest cell, and of the longest piece in it
// that has no place to break.
type column struct{ width, piece int }

func columns(head []string, rows [][]string) []column {
	var all []column
	for _, r := range append([][]string{head}, rows...) {
		for i, cell := range r {
			if i == len(all) {
				all = append(all, column{1, 1})
			}
			cell = strings.ReplaceAll(line(cell), lineEnd, "\n")
			all[i].width = max(all[i].width, text.LongestLineLen(cell))
			for _, piece := range strings.FieldsFunc(strings.ReplaceAll(cell, ",", ", "), unicode.IsSpace) {
				all[i].piece = max(all[i].piece, text.StringWidthWithoutEscSequences(piece))
			}
		}
	}
	return all
}

// fit squeezes the widest columns until all of them fit the width: first those
// that break well, then, if need be, any.
func fit(all []column, width int) []column {
	total := len(gap) * (len(all) - 1)
	for _, c := range all {
		total += c.width
	}
	for _, least := range []func(column) int{func(c column) int { return c.piece }, func(column) int { return narrowest }} {
		for width > 0 && total > width {
			widest := -1
			for i, c := range all {
				if c.width > least(c) && (widest < 0 || c.width > all[widest].width) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			all[widest].width--
			total--
		}
	}
	return all
}

func limits(columns []column) []table.ColumnConfig {
	all := make([]table.ColumnConfig, len(columns))
	for i, c := range columns {
		all[i] = table.ColumnConfig{Number: i + 1, WidthMax: c.width, WidthMaxEnforcer: fold}
	}
	return all
}

// fold breaks a cell into lines, after a comma or a space where there is one.
func fold(cell string, width int) string {
	if text.LongestLineLen(cell) <= width {
		return cell
	}
	var lines []string
	for rest := []rune(cell); len(rest) > 0; {
		n := prefix(rest, width)
		lines = append(lines, strings.TrimSpace(string(rest[:n])))
		rest = rest[n:]
	}
	return strings.Join(lines, "\n")
}

// prefix is the number of runes for the first line.
func prefix(rest []rune, width int) int {
	n, used := 0, 0
	for n < len(rest) {
		used += text.StringWidth(string(rest[n]))
		if used > width && n > 0 {
			break
		}
		n++
	}
	if n == len(rest) {
		return n
	}
	for i := n; i > 0; i-- {
		if rest[i-1] == ',' || rest[i-1] == ' ' {
			return i
		}
	}
	return n
}

// fields writes an object's properties, one a line; those without a value are
// left out.
func fields(w io.Writer, width int, pairs ...[2]string) error {
	var rows [][]string
	for _, p := range pairs {
		if p[1] != "" {
			rows = append(rows, []string{p[0] + ":", p[1]})
		}
	}
	return writeTable(w, width, nil, rows)
}
