package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// planScreen shows a plan: its sum, what happens when, what it needs.
func (s *session) planScreen(w io.Writer, clock scenario.Clock, p crowdPlan, modes []string) error {
	var personas []string
	for _, name := range sortedKeys(p.Personas) {
		personas = append(personas, fmt.Sprintf("%s %d", name, p.Personas[name]))
	}
	cut := ""
	if p.Cut > 0 {
		cut = cutWords(p.Cut)
	}
	fields := [][2]string{{"crowd", p.Crowd}, {"seed", strconv.FormatUint(p.Seed, 10)}, {"sha256", p.SHA256},
		{"users", fmt.Sprintf("%d (%s), %d with a session", p.Users, heddle.List(personas), p.Active)},
		{"mistakes", strconv.FormatInt(p.Mistakes, 10)}, {"cut off", cut},
		{"at once", fmt.Sprintf("%d sessions, %d connections", p.Peak.Sessions, p.Peak.Connections)}}
	if err := fieldTable(w, s.width(), append(fields, cacheFields(p.Summary)...)...); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := s.eventTable(w, p.Events); err != nil {
		return err
	}
	if err := s.minuteTable(w, clock, p.Summary); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return s.needTable(w, p.Needs, modes)
}

// cutWords say how many sessions are cut off, and at what.
func cutWords(sessions int) string {
	unit := "sessions"
	if sessions == 1 {
		unit = "session"
	}
	return fmt.Sprintf("%d %s (%d steps, or %d states)", sessions, unit, scenario.MaxSteps, scenario.MaxVisits)
}

// maxPeriods is how many lines the table of what happens when has, if it is not wide.
const maxPeriods = 20

// periods are the lengths of time, in minutes, for which a table may have one line.
var periods = []int{1, 2, 5, 10, 15, 30, 60, 120, 240, 720}

// minuteTable shows what happens when, a line for each period of some minutes, and in all.
func (s *session) minuteTable(w io.Writer, clock scenario.Clock, p plan.Summary) error {
	period := 1
	for _, period = range periods {
		if s.isWide() || len(p.Minutes) <= period*maxPeriods {
			break
		}
	}
	line := func(at, day string, a plan.Amounts) []string {
		return []string{at, day, fmt.Sprint(a.Sessions), fmt.Sprint(a.Steps), fmt.Sprint(a.Requests),
			fmt.Sprint(a.Connections), plan.FormatBytes(a.Sent), plan.FormatBytes(a.Received)}
	}
	var rows [][]string
	for first := 0; first < len(p.Minutes); first += period {
		sum := plan.Amounts{}
		for _, m := range p.Minutes[first:min(first+period, len(p.Minutes))] {
			sum = sum.Plus(m)
		}
		at := time.Duration(first) * time.Minute
		day := clock.At(at).String()
		rows = append(rows, line(strings.TrimSuffix(clockTime(at), ":00"), strings.TrimSuffix(day, ":00"), sum))
	}
	return writeTable(w, s.width(), strings.Split("from,day's time,sessions,steps,requests,connects,sent,received", ","),
		append(rows, line("all", "", p.Total)))
}

// needTable shows what a plan needs in some modes, and what the machine has; a wide one has all modes.
func (s *session) needTable(w io.Writer, needs []plan.Need, modes []string) error {
	amount := func(n plan.Need, v int64) string {
		if n.What == "memory" {
			return plan.FormatBytes(v)
		}
		return strconv.FormatInt(v, 10)
	}
	columns := []tableColumn[plan.Need]{
		{"needs", func(n plan.Need) string { return n.What }},
		{"at most", func(n plan.Need) string { return amount(n, n.Need) }},
		{"limit", func(n plan.Need) string {
			if n.Limit == 0 {
				return "unknown"
			}
			return amount(n, n.Limit)
		}},
		{"setting", func(n plan.Need) string { return n.Setting }},
		{"met", func(n plan.Need) string {
			switch {
			case n.Limit == 0:
				return ""
			case n.Met():
				return s.colour(w, green, "yes")
			}
			return s.colour(w, red, "no")
		}}}
	if s.isWide() {
		in := func(n plan.Need) string { return cmp.Or(heddle.List(n.Modes), "all") }
		return writeColumns(w, s.width(), append(columns, tableColumn[plan.Need]{"modes", in}), needs)
	}
	others := func(n plan.Need) bool { return !n.Concerns(modes) }
	return writeColumns(w, s.width(), columns, slices.DeleteFunc(slices.Clone(needs), others))
}

// clockTime writes a time since the crowd began, as hours, minutes and seconds.
func clockTime(d time.Duration) string {
	d = d.Truncate(time.Second)
	return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d/time.Minute%60, d/time.Second%60)
}

// shortDuration writes a duration to three digits or so.
func shortDuration(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
