package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/picture"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/durable"
	"github.com/heddle-network/heddle/limit"
)

const crowdFailIfHelp = `A --fail-if expression makes the command fail (exit code 1, HDL-7003) when a figure
crosses a limit in any mode: 'achieved<99% and p99{action=web.page}>1s',
'mos-p10{mode=overlay}<3.6', 'ratio-bridge{mode=routed,figure=p99,action=web.page}>1.2'.`

func newCrowdReport(s *session) *cobra.Command {
	var failIf, drawTo string
	cmd := &cobra.Command{
		Use: "report FILE", Args: withArgs("FILE"),
		Short: "Show a report again",
		Long: `report shows what 'heddle crowd run --out FILE' wrote: medians over the rounds. Rounds that
are not valid do not count where a mode has others. If there are any, the command says so,
and ends with exit code 1 (HDL-9002).

With --picture, it also draws how long people waited for what they did, in each mode (SVG).

` + crowdFailIfHelp,
		Example: "  heddle crowd report report.json\n  heddle crowd report report.json --picture waits.svg\n  heddle crowd report report.json --fail-if 'achieved<99%'",
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := report.Read(args[0])
			if err != nil {
				return err
			}
			conditions, err := crowdLimits(failIf, r.Known())
			if err != nil {
				return err
			}
			if drawTo != "" {
				if err := s.drawCrowd(r, drawTo); err != nil {
					return err
				}
			}
			return errors.Join(s.emitCrowdReport(r), verdict(r, conditions))
		},
	}
	cmd.Flags().StringVar(&drawTo, "picture", "", "draw the waits into `FILE`, as SVG")
	cmd.Flags().StringVar(&failIf, "fail-if", "", "fail when a figure crosses a limit")
	return cmd
}

// crowdLimits reads --fail-if about a report that has, or will have, these.
func crowdLimits(expr string, known report.Known) ([]limit.Limit, error) {
	return limits(expr, func(expr string) ([]limit.Limit, error) { return report.ParseLimits(expr, known) })
}

// verdict is why a report is bad news: its rounds say nothing about the network, or a figure crosses a limit.
func verdict(r report.Report, conditions []limit.Limit) error {
	if err := invalid(r); err != nil {
		return err
	}
	return r.Check(conditions, figureText)
}

// invalid is the error of a run of which some rounds say nothing about the network.
func invalid(r report.Report) error {
	var why []string
	for _, one := range r.Rounds {
		if one.Invalid != "" {
			why = append(why, fmt.Sprintf("round %d in mode %s: %s", one.Number, one.Mode, one.Invalid))
		}
	}
	if why == nil {
		return nil
	}
	return heddle.Errorf(heddle.CrowdFailed, "play crowd", r.Crowd, strings.Join(why, "; "), "do what is said there; if the crowd was late, "+
		"give fewer --users, or leave the machine alone while the crowd plays")
}

// drawCrowd writes a report's picture.
func (s *session) drawCrowd(r report.Report, file string) error {
	svg, err := picture.SVG(r)
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "draw report of crowd", r.Crowd, err, "play a scenario whose people wait for something, in fewer modes")
	}
	if err := durable.Stream(file, 0o644, func(w io.Writer) error { _, err := io.WriteString(w, svg); return err }); err != nil {
		return heddle.Wrap(heddle.BadArgument, "write picture", file, err, "name a file that can be written")
	}
	s.note("the picture is in %s", file)
	return nil
}

func writeReport(file string, r report.Report) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = durable.Stream(file, 0o644, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
	}
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "write report", file, err, "name a file that can be written")
	}
	return nil
}

func (s *session) emitCrowdReport(r report.Report) error {
	return s.emit("CrowdReport", r, func(w io.Writer) error { return s.reportScreen(w, r) })
}

// reportScreen shows how people fared in each mode, side by side: medians over the rounds.
func (s *session) reportScreen(w io.Writer, r report.Report) error {
	fields := [][2]string{{"crowd", r.Crowd}, {"seed", strconv.FormatUint(r.Seed, 10)}, {"sha256", r.SHA256},
		{"users", fmt.Sprintf("%d, for %s", r.Users, shortDuration(r.Length))},
		{"rounds", strconv.Itoa(r.Numbers())}, {"ended early", r.Partial}}
	if r.As != "" || r.Hosts > 1 || r.Part != nil {
		fields = append(fields, [2]string{"users are", r.UserWords()})
	}
	fields = append(fields, clockFields(r)...)
	for _, m := range r.Modes {
		fields = append(fields, [2]string{"left out", r.LeftOut[m]})
	}
	for _, persona := range sortedKeys(r.Links) {
		fields = append(fields, [2]string{"link", persona + ": " + r.Links[persona].String()})
	}
	fields = append(fields, eventFields(r)...)
	for _, line := range r.ServiceLines() {
		fields = append(fields, [2]string{"service", line})
	}
	for _, line := range r.EndedLines() {
		fields = append(fields, [2]string{"ended", line})
	}
	if err := fieldTable(w, s.width(), fields...); err != nil {
		return err
	}
	for _, part := range r.Parts() {
		if len(part) == 0 {
			continue
		}
		fmt.Fprintln(w)
		if err := s.figureTable(w, r, part); err != nil {
			return err
		}
	}
	return nil
}

// figureTable shows figures of one part, those that some mode has.
func (s *session) figureTable(w io.Writer, r report.Report, part []report.Figure) error {
	played := r.Played()
	head, rows := []string{part[0].Part}, [][]string{}
	for _, m := range played {
		if !r.Valid(m) {
			m += " (not valid)"
		}
		head = append(head, m)
	}
	for _, f := range part {
		if f.Detail && !s.isWide() {
			continue
		}
		row, has := []string{f.Label}, false
		for _, m := range played {
			text := "-"
			if v, ok := r.Median(m, f.Value); ok {
				text, has = figureText(f, v), true
			}
			if s.isWide() && m != played[0] {
				if ratio, ok := r.Ratio(m, played[0], f.Value); ok && ratio.N > 1 {
					text += fmt.Sprintf(" (%.2f [%.2f, %.2f])", ratio.Median, ratio.Low, ratio.High)
				}
			}
			row = append(row, text)
		}
		if has {
			rows = append(rows, row)
		}
	}
	return writeTable(w, s.width(), head, rows)
}

// figureText writes a figure's value.
func figureText(f report.Figure, v float64) string {
	switch f.Unit {
	case report.Time:
		return shortDuration(time.Duration(v))
	case report.Share:
		return strconv.FormatFloat(100*v, 'f', 2, 64) + "%"
	case report.Bytes:
		return plan.FormatBytes(int64(v))
	case report.Score, report.Processors:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
