package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/tally"
)

func newCrowdReport(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "report FILE", Args: withArgs("FILE"),
		Short: "Show a report again",
		Long: `report shows what 'heddle crowd run --out FILE' wrote: medians over the rounds. Rounds that
are not valid do not count where a mode has others. If there are any, the command says so,
and ends with exit code 1 (HDL-9002).`,
		Example: "  heddle crowd report report.json",
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := report.Read(args[0])
			if err != nil {
				return err
			}
			return errors.Join(s.emit("CrowdReport", r, func(w io.Writer) error { return s.reportScreen(w, r) }), invalid(r))
		},
	}
}

// figure is a line of a report: what it is, and how its value is written.
type figure struct {
	name string
	of   func(report.Round) (float64, bool)
	text func(float64) string
}

// reportScreen shows how people fared in each mode, side by side: medians over the rounds.
func (s *session) reportScreen(w io.Writer, r report.Report) error {
	fields := [][2]string{{"crowd", r.Crowd}, {"seed", strconv.FormatUint(r.Seed, 10)}, {"sha256", r.SHA256},
		{"users", fmt.Sprintf("%d, for %s", r.Users, shortDuration(r.Length))},
		{"rounds", fmt.Sprint(r.Rounds[len(r.Rounds)-1].Number)}, {"ended early", r.Partial}}
	for _, m := range r.Modes {
		fields = append(fields, [2]string{"left out", r.LeftOut[m]})
	}
	for _, persona := range sortedKeys(r.Links) {
		fields = append(fields, [2]string{"link", persona + ": " + r.Links[persona].String()})
	}
	if err := fieldTable(w, s.width(), fields...); err != nil {
		return err
	}
	for _, part := range [][]figure{achievedFigures(r), sessionFigures(), actionFigures(r, s.isWide()), crowdFigures()} {
		fmt.Fprintln(w)
		if err := s.figureTable(w, r, part); err != nil {
			return err
		}
	}
	if failures := failureFigures(r); len(failures) > 1 {
		fmt.Fprintln(w)
		return s.figureTable(w, r, failures)
	}
	return nil
}

func (s *session) figureTable(w io.Writer, r report.Report, all []figure) error {
	played := slices.DeleteFunc(slices.Clone(r.Modes), func(m string) bool { return len(r.Of(m)) == 0 })
	head, rows := []string{all[0].name}, [][]string{}
	for _, m := range played {
		if !r.Valid(m) {
			m += " (not valid)"
		}
		head = append(head, m)
	}
	for _, f := range all[1:] {
		row, has := []string{f.name}, false
		for _, m := range played {
			text := "-"
			if v, ok := r.Median(m, f.of); ok {
				text, has = f.text(v), true
			}
			if ratio, ok := r.Ratio(m, f.of); ok && s.isWide() && ratio.N > 1 && m != played[0] {
				text += fmt.Sprintf(" (%.2f [%.2f, %.2f])", ratio.Median, ratio.Low, ratio.High)
			}
			row = append(row, text)
		}
		if has {
			rows = append(rows, row)
		}
	}
	return writeTable(w, s.width(), head, rows)
}

func durationText(v float64) string { return shortDuration(time.Duration(v)) }
func countText(v float64) string    { return strconv.FormatFloat(v, 'f', -1, 64) }
func shareText(v float64) string    { return strconv.FormatFloat(100*v, 'f', 2, 64) + "%" }
func scoreText(v float64) string    { return strconv.FormatFloat(v, 'f', 2, 64) }

// achievedFigures are the shares of the planned sessions whose steps were all done.
func achievedFigures(r report.Report) []figure {
	all := []figure{{name: "sessions achieved"}}
	for _, name := range report.Names(r, func(one report.Round) map[string]tally.Sessions { return one.Behaviours }) {
		all = append(all, figure{name, func(one report.Round) (float64, bool) {
			s := one.Behaviours[name]
			return float64(s.Achieved) / float64(max(1, s.Intended)), s.Intended > 0
		}, shareText})
	}
	return all
}

// sessionFigures are what became of all sessions.
func sessionFigures() []figure {
	count := func(name string, of func(tally.Sessions) int64) figure {
		return figure{name, func(one report.Round) (float64, bool) { return float64(of(one.Sessions())), true }, countText}
	}
	return []figure{{name: "sessions"},
		count("intended", func(s tally.Sessions) int64 { return s.Intended }),
		count("achieved", func(s tally.Sessions) int64 { return s.Achieved }),
		count("failed", func(s tally.Sessions) int64 { return s.Failed }),
		count("gave up", func(s tally.Sessions) int64 { return s.GivenUp }),
		count("unfinished", func(s tally.Sessions) int64 { return s.Unfinished }),
		count("never began", func(s tally.Sessions) int64 { return s.Intended - s.Started }),
		count("began late", func(s tally.Sessions) int64 { return s.Late })}
}

// actionFigures are how long people waited, and how satisfied they are.
func actionFigures(r report.Report, wide bool) []figure {
	all := []figure{{name: "waited, from plan"}}
	for _, name := range report.Names(r, func(one report.Round) map[string]tally.Steps { return one.Actions }) {
		if name == "voice.call" || name == "video.play" { // they last on any network
			continue
		}
		of := func(label string, value func(tally.Steps) float64, text func(float64) string) {
			all = append(all, figure{name + " " + label, func(one report.Round) (float64, bool) {
				a, has := one.Actions[name]
				v := value(a)
				return v, has && v >= 0
			}, text})
		}
		of("p50", func(a tally.Steps) float64 { return float64(a.Planned.P50) }, durationText)
		of("p99", func(a tally.Steps) float64 { return float64(a.Planned.P99) }, durationText)
		if wide {
			of("service p50", func(a tally.Steps) float64 { return float64(a.Service.P50) }, durationText)
			of("service p99", func(a tally.Steps) float64 { return float64(a.Service.P99) }, durationText)
		}
		if tally.Targets[name] > 0 {
			of("Apdex", func(a tally.Steps) float64 { return a.Apdex }, scoreText)
		}
	}
	return all
}

// crowdFigures are calls and videos, and what the crowd cost.
func crowdFigures() []figure {
	of := func(name string, value func(report.Round) float64, has func(report.Round) bool, text func(float64) string) figure {
		return figure{name, func(one report.Round) (float64, bool) { return value(one), has == nil || has(one) }, text}
	}
	calls := func(one report.Round) bool { return one.Calls.Count > 0 }
	videos := func(one report.Round) bool { return one.Videos.Count > 0 }
	return []figure{{name: "calls, videos, cost"},
		of("calls, MOS p10", func(r report.Round) float64 { return r.Calls.MOSP10 }, calls, scoreText),
		of("calls, MOS p50", func(r report.Round) float64 { return r.Calls.MOSP50 }, calls, scoreText),
		of("calls, lost", func(r report.Round) float64 { return r.Calls.Lost }, calls, shareText),
		of("videos, start p50", func(r report.Round) float64 { return float64(r.Videos.Start.P50) }, videos, durationText),
		of("videos, never began", func(r report.Round) float64 { return float64(r.Videos.Never) },
			func(r report.Round) bool { return r.Videos.Count+r.Videos.Never > 0 }, countText),
		of("videos, stalled", func(r report.Round) float64 { return r.Videos.Stalled }, videos, shareText),
		{"links, frames lost", report.Round.LostOnLinks, shareText},
		{"links, lost by the crowd", report.Round.MissedOnLinks, shareText},
		of("attached in", func(r report.Round) float64 { return float64(r.Attached) }, nil, durationText),
		of("detached in", func(r report.Round) float64 { return float64(r.Detached) }, nil, durationText),
		of("processors, crowd", func(r report.Round) float64 { return r.Processor }, nil, scoreText),
		of("processors, machine", func(r report.Round) float64 { return r.Machine }, nil, scoreText),
		of("memory a user", func(r report.Round) float64 { return float64(r.MemoryPerUser) },
			func(r report.Round) bool { return r.MemoryPerUser > 0 }, func(v float64) string { return plan.FormatBytes(int64(v)) }),
		of("crowd's lag p99", func(r report.Round) float64 { return float64(r.Late()) }, nil, durationText),
	}
}

// failureFigures are why steps failed.
func failureFigures(r report.Report) []figure {
	count := func(one report.Round) map[string]int64 {
		all := map[string]int64{}
		for _, f := range one.Failures {
			all[f.Why] = f.Count
		}
		return all
	}
	all := []figure{{name: "steps failed"}}
	for _, why := range report.Names(r, count) {
		all = append(all, figure{why, func(one report.Round) (float64, bool) { return float64(count(one)[why]), true }, countText})
	}
	return all
}
