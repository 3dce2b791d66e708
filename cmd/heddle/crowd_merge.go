package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/report"
)

func newCrowdMerge(s *session) *cobra.Command {
	var failIf, out string
	cmd := &cobra.Command{
		Use: "merge FILE...", Args: withArgs("FILE..."),
		Short: "Make one report of those of a crowd's parts",
		Long: `merge adds up what 'heddle crowd run --part --out FILE' wrote on several machines, and shows
it as 'crowd report' does. Quantiles are those of all that was counted, and no means of
quantiles. Reports of different plans, begins, networks, or numbers of parts are refused, and
so is one that is there twice. If some parts are missing, or ended early, the report is
partial, and says so; its round is not valid then, and the command ends with exit code 1 (HDL-9002).

` + crowdFailIfHelp,
		Example: "  heddle crowd merge part1.json part2.json part3.json --out report.json",
		RunE: func(_ *cobra.Command, args []string) error {
			var parts []report.Report
			for _, file := range args {
				if sameFile(file, out) {
					return heddle.Errorf(heddle.BadArgument, "read flag", "--out", "it is the report of a part", "name another file")
				}
				r, err := report.Read(file)
				if err != nil {
					return err
				}
				parts = append(parts, r)
			}
			r, err := report.Merge(parts)
			if err != nil {
				return err
			}
			conditions, err := crowdLimits(failIf, r.Known())
			if err != nil {
				return err
			}
			if out != "" {
				if err := writeReport(out, r); err != nil {
					return err
				}
				s.note("the report is in %s", out)
			}
			return errors.Join(s.emitCrowdReport(r), verdict(r, conditions))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write the report to `FILE`, as JSON")
	cmd.Flags().StringVar(&failIf, "fail-if", "", "fail when a figure crosses a limit")
	return cmd
}
