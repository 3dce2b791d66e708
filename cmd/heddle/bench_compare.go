package main

import (
	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/bench"
)

func newBenchCompare(s *session) *cobra.Command {
	var page, failIf string
	var anyway bool
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "compare two reports, cell by cell",
		Long: `compare divides the medians of report B by those of report A, with the 95 % interval
of that ratio and a mark where the difference is clear. A and B are folders of two
runs, or their report.json files. Runs that were made in different ways (virtual
machines or their kernel, placement, congestion control, load, bridge-nf) are refused,
unless --anyway is given; what else differs between the two machines is said first.

With --fail-if the command fails (exit code 1) on a change: 'regression>5%' looks at
how much worse B is, 'sure-regression>5%' at how much worse it is at least, by the
interval; 'ratio{figure=p99}>1.2' at B ÷ A. Labels choose cells.`,
		Example: "  heddle bench compare bench-out/before bench-out/after\n  heddle bench compare bench-out/before bench-out/after --html change.html --fail-if 'sure-regression>5%'",
		Args:    withArgs("A", "B"),
		RunE: func(_ *cobra.Command, args []string) error {
			return s.benchCompare(args[0], args[1], page, failIf, anyway)
		},
	}
	cmd.Flags().StringVar(&page, "html", "", "write a page with both to `FILE`")
	cmd.Flags().StringVar(&failIf, "fail-if", "", "fail on a change")
	cmd.Flags().BoolVar(&anyway, "anyway", false, "compare runs that were made in different ways")
	return cmd
}

func (s *session) benchCompare(a, b, page, failIf string, anyway bool) error {
	conditions, err := limits(failIf, bench.ParseChangeLimits)
	if err != nil {
		return err
	}
	first, err := readReport(a)
	if err != nil {
		return err
	}
	second, err := readReport(b)
	if err != nil {
		return err
	}
	if !anyway {
		if err := bench.Comparable(first, second); err != nil {
			return err
		}
	}
	c := bench.Compare(first, second)
	if page != "" {
		if err := bench.WriteFile(page, c.HTML); err != nil {
			return err
		}
	}
	if err := s.emit(c.Kind, c, c.Text); err != nil {
		return err
	}
	if page != "" {
		s.note("the page is %s", page)
	}
	return c.Check(conditions)
}
