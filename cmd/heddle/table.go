package main

import (
	"io"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// columnGap is the space between two columns.
const columnGap = "   "

// minColumnWidth is the smallest width of a column that is made narrower.
const minColumnWidth = 8

// writeTable writes rows under a head, or without one, no wider than width (0:
// any width): the widest columns are folded.
func writeTable(w io.Writer, width int, head []string, rows [][]string) error {
	t := table.NewWriter()
	t.SetStyle(tableStyle())
	t.SuppressTrailingSpaces()
	if len(head) > 0 {
		t.AppendHeader(tableRow(head))
	}
	for _, r := range rows {
		t.AppendRow(tableRow(r))
	}
	t.SetColumnConfigs(columnConfigs(fitWidth(columnWidths(head, rows), width)))
	_, err := io.WriteString(printTo(w), t.Render()+"\n")
	return err
}

// cellLineBreak ends a line within a cell. Foreign text cannot contain it.
var cellLineBreak = colourMark("end")

func tableStyle() table.Style {
	return table.Style{
		Name:   "plain",
		Box:    table.BoxStyle{PaddingRight: columnGap},
		Format: table.FormatOptions{Header: text.FormatUpper},
	}
}

func tableRow(cells []string) table.Row {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		r[i] = strings.ReplaceAll(oneLine(c), cellLineBreak, "\n")
		if c == "" {
			r[i] = "-"
		}
	}
	return r
}

// column is the width of a column's widest cell, and of the longest word in it.
type column struct{ width, word int }

func columnWidths(head []string, rows [][]string) []column {
	var all []column
	for _, r := range append([][]string{head}, rows...) {
		for i, cell := range r {
			if i == len(all) {
				all = append(all, column{1, 1})
			}
			cell = strings.ReplaceAll(oneLine(cell), cellLineBreak, "\n")
			all[i].width = max(all[i].width, text.LongestLineLen(cell))
			for _, piece := range strings.FieldsFunc(strings.ReplaceAll(cell, ",", ", "), unicode.IsSpace) {
				all[i].word = max(all[i].word, text.StringWidthWithoutEscSequences(piece))
			}
		}
	}
	return all
}

// fitWidth makes the widest columns narrower until the table fits the width: at first only
// columns that are wider than their longest word, then any.
func fitWidth(all []column, width int) []column {
	total := len(columnGap) * (len(all) - 1)
	for _, c := range all {
		total += c.width
	}
	for _, least := range []func(column) int{func(c column) int { return c.word }, func(column) int { return minColumnWidth }} {
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

func columnConfigs(columns []column) []table.ColumnConfig {
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
		n := lineLength(rest, width)
		lines = append(lines, strings.TrimSpace(string(rest[:n])))
		rest = rest[n:]
	}
	return strings.Join(lines, "\n")
}

// lineLength is the number of runes in the first line.
func lineLength(rest []rune, width int) int {
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

// fieldTable writes an object's properties, one a line; those without a value are
// left out.
func fieldTable(w io.Writer, width int, pairs ...[2]string) error {
	var rows [][]string
	for _, p := range pairs {
		if p[1] != "" {
			rows = append(rows, []string{p[0] + ":", p[1]})
		}
	}
	return writeTable(w, width, nil, rows)
}
