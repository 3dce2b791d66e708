package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/report"
)

func newCrowdCompare(s *session) *cobra.Command {
	var failIf string
	var anyway bool
	cmd := &cobra.Command{
		Use: "compare A B", Args: withArgs("A", "B"),
		Short: "Compare how people fared in two runs",
		Long: `compare divides the medians of report B by those of report A, mode by mode, with the
95 % interval of that ratio and a word where the difference is clear. A and B are files
that 'heddle crowd run --out' wrote. Reports of different plans are refused, unless
--anyway is given. With -o wide there are more figures. A mode without a valid round in either
says nothing: the command ends with exit code 1 (HDL-9002).

With --fail-if the command fails (exit code 1, HDL-7003) on a change: 'regression>10%' looks
at how much worse B is, 'sure-regression>10%' at how much worse it is at least, by the
interval; 'ratio{figure=p99,action=web.page}>1.2' at B ÷ A. Without a figure, achieved
and the p50 of each action are looked at.`,
		Example: "  heddle crowd compare before.json after.json\n  heddle crowd compare before.json after.json --fail-if 'sure-regression>10%'",
		RunE:    func(_ *cobra.Command, args []string) error { return s.crowdCompare(args[0], args[1], failIf, anyway) },
	}
	cmd.Flags().StringVar(&failIf, "fail-if", "", "fail on a change")
	cmd.Flags().BoolVar(&anyway, "anyway", false, "compare reports of different plans")
	return cmd
}

func (s *session) crowdCompare(a, b, failIf string, anyway bool) error {
	conditions, err := limits(failIf, report.ParseChangeLimits)
	if err != nil {
		return err
	}
	first, err := report.Read(a)
	if err != nil {
		return err
	}
	second, err := report.Read(b)
	if err != nil {
		return err
	}
	if !anyway {
		if err := report.Comparable(first, second); err != nil {
			return err
		}
	}
	c := report.Compare(first, second)
	if len(c.Changes) == 0 {
		return heddle.Errorf(heddle.BadArgument, "compare reports", "", "they have no mode in common", "play both on one mode")
	}
	if err := s.emit("CrowdComparison", c, func(w io.Writer) error { return s.comparisonScreen(w, c) }); err != nil {
		return err
	}
	if err := c.Check(conditions); err != nil {
		return err
	}
	return c.Valid()
}

// comparisonScreen shows what changed in each mode.
func (s *session) comparisonScreen(w io.Writer, c report.Comparison) error {
	for _, warning := range c.Warnings {
		fmt.Fprintln(w, "differs: "+warning)
	}
	head := []string{"mode", "figure", "first", "second", "second ÷ first", "better is", "verdict"}
	var rows [][]string
	for _, x := range c.Changes {
		if x.Of.Detail && !s.isWide() {
			continue
		}
		rows = append(rows, []string{x.Mode, x.Of.Name(), figureText(x.Of, x.A), figureText(x.Of, x.B), x.RatioText(), strings.TrimSuffix(x.Better, " is better"), x.Verdict})
	}
	if err := writeTable(w, s.width(), head, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, c.Summary())
	return err
}
