package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// eventTable shows the events of a scenario, if it has some, in the order of the file, and an empty line after them.
func (s *session) eventTable(w io.Writer, all []scenario.Event) error {
	if len(all) == 0 {
		return nil
	}
	var rows [][]string
	for i, e := range all {
		rows = append(rows, []string{strconv.Itoa(i + 1), clockTime(e.At), scenario.Short(e.For), e.String()})
	}
	if err := writeTable(w, s.width(), []string{"event", "at", "for", "what happens"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// eventFields are the lines of a report about events: those of the scenario, and in how many rounds they happened if not in
// all, and what was done by hand.
func eventFields(r report.Report) (fields [][2]string) {
	for i, e := range r.Events {
		text := fmt.Sprintf("%s, for %s: %s", clockTime(e.At), scenario.Short(e.For), e)
		if n := r.Happened(i + 1); n < len(r.Rounds) {
			text += fmt.Sprintf(" (in %d of %d rounds)", n, len(r.Rounds))
		}
		fields = append(fields, [2]string{"event", text})
	}
	for _, one := range r.Rounds {
		for _, e := range one.ByHand() {
			fields = append(fields, [2]string{"by hand", fmt.Sprintf("round %d, mode %s, %s, for %s: %s", one.Number, one.Mode, clockTime(e.Began),
				shortDuration(e.Ended-e.Began), e)})
		}
		for _, sc := range one.Scales {
			fields = append(fields, [2]string{"scaled", fmt.Sprintf("round %d, mode %s, %s", one.Number, one.Mode, scaleText(sc))})
		}
	}
	return fields
}

// scaleText is a change of the number of users, with when it was and how long it took.
func scaleText(s diary.Scale) string {
	what := "attached"
	if s.To < s.From {
		what = "detached"
	}
	text := fmt.Sprintf("%s: %s, %s in %s", clockTime(s.Began), s, what, shortDuration(s.Took))
	if s.Failed != "" {
		text = fmt.Sprintf("%s: %s, for %d failed after %s: %s", clockTime(s.Began), s, s.To, shortDuration(s.Took), s.Failed)
	}
	return text
}

// goingOn are the lines about events that have not ended.
func goingOn(all []diary.Event) (fields [][2]string) {
	for _, e := range all {
		if e.Ended == 0 {
			fields = append(fields, [2]string{whoseEvent(e), fmt.Sprintf("%s, since %s", e, clockTime(e.Began))})
		}
	}
	return fields
}

// whoseEvent says whether an event is the scenario's.
func whoseEvent(e diary.Event) string {
	if e.ByHand {
		return "by hand"
	}
	return "event " + strconv.Itoa(e.Number)
}

// touches reports whether an event is about somebody: the link of the persona, a service that some step goes to, or a session
// for which the user gathers. A service's fault may end a connection long before the step that finds out.
func touches(e diary.Event, d plan.Diary) bool {
	if e.Link != nil {
		return e.Persona == d.Persona
	}
	for _, one := range d.Sessions {
		if e.Gather != "" && one.Event == e.Number {
			return true
		}
		for _, step := range one.Steps {
			if e.Service != "" && step.Do.Service() == e.Service {
				return true
			}
		}
	}
	return false
}
