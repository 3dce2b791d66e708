package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/limit"
)

func newBenchReport(s *session) *cobra.Command {
	var page, failIf string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "show the report of a run, and write its page anew",
		Long: `report reads report.json of a run's folder, shows it, and writes the other forms
beside it: report.html, a page that opens from disk and needs nothing else;
samples.csv, every single reading; report.bench, which benchstat reads. With
--html only the page is written, to FILE.

` + failIfHelp,
		Example: "  heddle bench report bench-out/before\n  heddle bench report bench-out/before --html page.html --fail-if 'p99>200us'",
		Args:    withArgs("DIR"),
		RunE:    func(_ *cobra.Command, args []string) error { return s.benchReport(args[0], page, failIf) },
	}
	cmd.Flags().StringVar(&page, "html", "", "write the page to `FILE` only")
	cmd.Flags().StringVar(&failIf, "fail-if", "", "fail when a figure crosses a limit")
	return cmd
}

func (s *session) benchReport(path, page, failIf string) error {
	conditions, err := limits(failIf, bench.ParseLimits)
	if err != nil {
		return err
	}
	r, err := readReport(path)
	if err != nil {
		return err
	}
	if page != "" {
		err = bench.WriteFile(page, r.HTML)
	} else {
		page = filepath.Join(filepath.Dir(reportPath(path)), "report.html")
		err = r.WriteForms(filepath.Dir(page))
	}
	if err != nil {
		return err
	}
	if err := s.emit(r.Kind, r, r.Text); err != nil {
		return err
	}
	s.note("the page is %s", page)
	return r.Check(conditions)
}

// reportPath returns the path of a report, given the path or its folder.
func reportPath(path string) string {
	if strings.HasSuffix(path, ".json") {
		return path
	}
	return filepath.Join(path, "report.json")
}

func readReport(path string) (*bench.Report, error) { return bench.ReadReport(reportPath(path)) }

const failIfHelp = `A --fail-if expression makes the command fail (exit code 1, HDL-7003) when a
figure crosses a limit: 'p99>200us', 'received{probe=iperf3,mode=bridge} < 2 Gbit/s',
'ratio-host{mode=routed}<0.5 and lost>0.1%'.`

// limits reads the expression of --fail-if; an empty one has no limits.
func limits(expr string, parse func(string) ([]limit.Limit, error)) ([]limit.Limit, error) {
	if expr == "" {
		return nil, nil
	}
	return parse(expr)
}
