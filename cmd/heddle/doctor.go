package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/doctor"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/mode"
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	fix, all bool
	only     []string
	paths    doctor.Paths
}

func newDoctor(s *session) *cobra.Command {
	f := doctorFlags{paths: doctor.Paths{Labs: lab.DefaultDir}}
	cmd := &cobra.Command{
		Use: "doctor", GroupID: groupHealth, Args: knownCommand,
		Short: "Look at the host for what keeps networks from working",
		Long: `doctor makes over a hundred checks: what each mode needs from this kernel (by trying it
in throw-away namespaces), settings, MTU, network managers, other firewalls,
overlapping subnets, leftovers, rights, and the agent. It runs as root, with the
agent up or down. Each finding tells what was read, word for word, and a command
that puts it right; --fix does so where that is safe.

'heddle doctor list' shows all checks, 'heddle explain CHECK' tells about one.
The exit code is 1 when a check fails; warnings and notes do not count.`,
		Example: "  heddle doctor\n  heddle doctor --only firewalls,mtu-parent --all\n  heddle doctor --fix --only socket-rights",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.runDoctor(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.fix, "fix", false, "put right what can be put right safely, and look again")
	flags.BoolVar(&f.all, "all", false, "show checks that are well, too")
	flags.StringSliceVar(&f.only, "only", nil, "make these checks only (`ID`s or families)")
	flags.StringVar(&f.paths.RunDir, "run-dir", "", "the agent's run `folder` (default: the socket's)")
	flags.StringVar(&f.paths.StateDir, "state-dir", "/var/lib/heddle", "the agent's state `folder`")
	flags.StringVar(&f.paths.CNIConf, "cni-conf", "/etc/cni/net.d", "`folder` of the runtimes' network configurations")
	flags.StringVar(&f.paths.CNIBin, "cni-bin", "/opt/cni/bin", "`folder` of the CNI plugins")
	cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(checkIDs(), cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(newDoctorList(s))
	return cmd
}

func newDoctorList(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "list", Args: withArgs(), Short: "List the doctor's checks",
		Long:    "list shows each check's id, its family, what a finding amounts to, and whether\n--fix puts it right.",
		Example: "  heddle doctor list",
		RunE: func(*cobra.Command, []string) error {
			all := doctor.Checks(mode.All())
			return s.emit("CheckList", listOf(all), func(w io.Writer) error {
				var rows [][]string
				for _, c := range all {
					rows = append(rows, []string{c.ID, c.Family, string(c.Severity), yesOrEmpty(c.Fixable), c.Title})
				}
				return writeTable(w, s.width(), []string{"id", "family", "finding", "fix", "what should be"}, rows)
			})
		},
	}
}

func yesOrEmpty(yes bool) string {
	if yes {
		return "yes"
	}
	return ""
}

// doctorReport is the output document of doctor.
type doctorReport struct {
	Items   []doctor.Finding     `json:"items"`
	Counts  map[doctor.State]int `json:"counts"`
	Seconds float64              `json:"seconds"`
}

func (s *session) runDoctor(ctx context.Context, f doctorFlags) error {
	checks, err := doctor.Choose(doctor.Checks(mode.All()), f.only)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return heddle.Errorf(heddle.NoPermission, "check host", "",
			"the doctor reads other programs' settings and tries modes in namespaces", "run 'heddle doctor' as root")
	}
	if s.vpc != "" {
		return heddle.Errorf(heddle.BadArgument, "check VPC", s.vpc, "the doctor looks at the host", "leave --vpc out; 'heddle --vpc "+s.vpc+" audit' looks at the VPC")
	}
	f.paths.Socket = s.socket
	if f.paths.RunDir == "" {
		f.paths.RunDir = filepath.Dir(s.socket)
	}
	defer s.showProgress(fmt.Sprintf("looking at the host, %d checks", len(checks)))()
	start := time.Now()
	h := doctor.NewHost(f.paths, mode.OfHost(), heddle.Version)
	d := doctorReport{Items: doctor.Run(ctx, h, checks), Counts: map[doctor.State]int{}}
	if f.fix {
		d.Items = doctor.Mend(ctx, h, checks, d.Items)
	}
	d.Seconds = time.Since(start).Seconds()
	for _, x := range d.Items {
		d.Counts[x.State]++
	}
	if err := s.emit("Diagnosis", d, func(w io.Writer) error { return s.diagnosisScreen(w, d, f.all) }); err != nil {
		return err
	}
	if d.Counts[doctor.Fail] > 0 {
		return exitCode(heddle.Failed)
	}
	return nil
}

var stateColours = map[doctor.State]string{doctor.OK: green, doctor.Note: bold, doctor.Warn: yellow, doctor.Fail: red}

// diagnosisScreen writes the findings that are not good, or all, and a summary.
func (s *session) diagnosisScreen(w io.Writer, d doctorReport, all bool) error {
	for _, f := range d.Items {
		quiet := f.State == doctor.OK || f.State == doctor.Skip
		if quiet && !all && len(f.Fixed) == 0 {
			continue
		}
		_ = printLine(w, "%s %s: %s\n", s.colour(w, stateColours[f.State], fmt.Sprintf("%-4s", f.State)), s.colour(w, bold, f.ID), f.Title)
		for _, line := range f.Evidence {
			_ = printLine(w, "       read  %s\n", strings.Join(strings.Fields(line), " "))
		}
		for _, line := range f.Fixed {
			_ = printLine(w, "       did   %s\n", line)
		}
		for _, line := range f.Remedy {
			_ = printLine(w, "       do    %s\n", line)
		}
	}
	err := printLine(w, "%d checks in %.2f s: %d ok, %d notes, %d warnings, %d failed, %d skipped\n", len(d.Items), d.Seconds,
		d.Counts[doctor.OK], d.Counts[doctor.Note], d.Counts[doctor.Warn], d.Counts[doctor.Fail], d.Counts[doctor.Skip])
	return err
}

func checkIDs() (ids []string) {
	for _, c := range doctor.Checks(mode.All()) {
		ids = append(ids, cobra.CompletionWithDesc(c.ID, c.Title))
	}
	return ids
}

// explainedCheck writes the description of a check.
func (s *session) explainedCheck(c doctor.Check) error {
	return s.emit("ExplainedCheck", c, func(w io.Writer) error {
		fix := ""
		if c.Fixable {
			fix = fmt.Sprintf("\nOr: heddle doctor --fix --only %s\n", c.ID)
		}
		_, err := fmt.Fprintf(w, "%s  %s (if not: a %s)\n\nLooks at: %s\n\n%s\n\nWhat to do: %s\n%s", s.colour(w, bold, c.ID), c.Title, severityWord[c.Severity], c.Looks, c.Why, c.Remedy, fix)
		return err
	})
}

var severityWord = map[doctor.State]string{doctor.Note: "note", doctor.Warn: "warning", doctor.Fail: "failure"}
