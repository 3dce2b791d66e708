package main

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

// maxBrief is how wide a name is in a table that is not wide.
const maxBrief = 24

// brief shortens a name for a table, unless the table is wide.
func (s *session) brief(name string) string {
	if s.isWide() || text.StringWidth(oneLine(name)) <= maxBrief {
		return name
	}
	return text.Trim(oneLine(name), maxBrief-1) + "…"
}

// briefID is an endpoint's ID in a table.
func (s *session) briefID(id heddle.EndpointID) string {
	if s.isWide() {
		return id.String()
	}
	return id.Short()
}

// tableColumn is a column of a table about objects of one kind.
type tableColumn[T any] struct {
	head string
	cell func(T) string
}

// writeColumns writes a table with one line an object.
func writeColumns[T any](w io.Writer, width int, columns []tableColumn[T], all []T) error {
	var head []string
	for _, c := range columns {
		head = append(head, c.head)
	}
	var rows [][]string
	for _, x := range all {
		var row []string
		for _, c := range columns {
			row = append(row, c.cell(x))
		}
		rows = append(rows, row)
	}
	return writeTable(w, width, head, rows)
}

// quietFlag adds -q to a list. It goes with no -o that asks for documents.
func (s *session) quietFlag(cmd *cobra.Command, quiet *bool) {
	cmd.Flags().BoolVarP(quiet, "quiet", "q", false, "only the ids, whole and one a line, as other commands take them")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *quiet && !s.isText() {
			return heddle.Errorf(heddle.BadArgument, "read flag", "--quiet", "-o "+s.format+" is given as well",
				"give one of the two")
		}
		return nil
	}
}

// emitIDs writes what a list with -q has.
func emitIDs[T any](s *session, all []T, id func(T) string) error {
	for _, x := range all {
		if _, err := fmt.Fprintln(printTo(s.stdout), oneLine(id(x))); err != nil {
			return err
		}
	}
	return nil
}
