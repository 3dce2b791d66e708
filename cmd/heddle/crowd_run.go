package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/tally"
)

// runFlags are the flags of crowd run.
type runFlags struct {
	planFlags
	network string
}

func newCrowdRun(s *session) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run FILE", Args: withArgs("FILE"),
		Short: "Let a crowd do what is planned, on a network",
		RunE:  func(cmd *cobra.Command, args []string) error { return s.crowdRun(cmd, args[0], f) },
	}
	g := cmd.Flags()
	g.IntVar(&f.users, "users", 0, "number of users (default: the scenario's)")
	g.Uint64Var(&f.seed, "seed", 0, "seed of the plan (default: the scenario's)")
	g.StringVar(&f.network, "network", "", "the network to play on")
	return cmd
}

func (s *session) crowdRun(cmd *cobra.Command, file string, f runFlags) error {
	read, err := f.scenario(cmd, file)
	if err != nil {
		return err
	}
	network, err := s.client().Network(cmd.Context(), f.network)
	if err != nil {
		return err
	}
	raiseFileLimit()
	r, err := round.Play(cmd.Context(), round.Options{Scenario: read, Agent: s.client(), Network: network,
		Progress: func(step string) { s.note("%s", step) }})
	if err != nil && r.Users == 0 {
		return err
	}
	if shown := s.emit("CrowdRound", r, func(w io.Writer) error { return s.roundScreen(w, r) }); shown != nil {
		return shown
	}
	return err
}

func (s *session) roundScreen(w io.Writer, r round.Round) error {
	var rows [][]string
	sum := tally.Sessions{}
	line := func(name string, a tally.Sessions) []string {
		return []string{name, fmt.Sprint(a.Intended), fmt.Sprint(a.Started), fmt.Sprint(a.Late), fmt.Sprint(a.Achieved),
			fmt.Sprint(a.Failed), fmt.Sprint(a.GivenUp), fmt.Sprint(a.Unfinished)}
	}
	for _, name := range scenario.Sorted(r.Behaviours) {
		rows = append(rows, line(name, r.Behaviours[name]))
		sum = sum.Plus(r.Behaviours[name])
	}
	rows = append(rows, line("all", sum))
	if err := writeTable(w, s.width(), strings.Split("behaviour,intended,started,late,achieved,failed,gave up,unfinished", ","), rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	rows = nil
	for _, name := range scenario.Sorted(r.Actions) {
		a := r.Actions[name]
		rows = append(rows, []string{name, fmt.Sprint(a.Count), shortDuration(a.Planned.P50), shortDuration(a.Planned.P99),
			shortDuration(a.Service.P50), shortDuration(a.Service.P99), strconv.FormatFloat(a.Apdex, 'f', 3, 64)})
	}
	if err := writeTable(w, s.width(), strings.Split("action,steps,p50,p99,service p50,p99,apdex", ","), rows); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nlag %+v\ncalls %+v\nvideos %+v\nattached %v detached %v processor %.2f machine %.2f memory/user %d KiB\n%v\ninvalid %q\n", r.Lag, r.Calls, r.Videos, r.Attached, r.Detached, r.Processor, r.Machine, r.MemoryPerUser>>10, r.Failures, r.Invalid)
	return nil
}
