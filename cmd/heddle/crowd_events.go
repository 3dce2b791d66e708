package main

import (
	"fmt"
	"io"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// eventTable shows the events of a scenario, if it has some, in the order of the file, and a line after them.
func (s *session) eventTable(w io.Writer, all []scenario.Event) error {
	if len(all) == 0 {
		return nil
	}
	if err := writeColumns(w, s.width(), []tableColumn[scenario.Event]{
		{"event at", func(e scenario.Event) string { return clockTime(e.At) }},
		{"for", func(e scenario.Event) string { return scenario.Short(e.For) }},
		{"what happens", scenario.Event.String}}, all); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
