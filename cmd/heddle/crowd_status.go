package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/live"
)

// followEvery is how often status shows a run anew.
const followEvery = 2 * time.Second

func newCrowdStatus(s *session) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "status", Args: withArgs(),
		Short: "Show the crowds that play now",
		Long: `status shows each 'heddle crowd run' of this machine that goes on: in which round and mode it
is, how many sessions should have begun, what became of them, how long people wait, and
by how much the crowd itself is late, how many users there are, and which events go on. With --follow, it is shown anew every two seconds, until no run is
left.`,
		Example: "  heddle crowd status\n  heddle crowd status -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !follow {
				_, err := s.crowdStatus()
				return err
			}
			return s.followCrowds(cmd.Context())
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show it again, until no run is left")
	return cmd
}

// crowdStatus shows the runs, and reports how many there are.
func (s *session) crowdStatus() (int, error) {
	all, err := live.Find()
	if err != nil {
		return 0, heddle.Wrap(heddle.CrowdFailed, "look for crowds", "", err, "")
	}
	return len(all), s.emit("CrowdStatusList", listOf(all), func(w io.Writer) error { return s.runsScreen(w, all) })
}

// followCrowds shows the runs again and again, on a terminal at the same place.
func (s *session) followCrowds(ctx context.Context) error {
	for {
		if s.isText() && isTerminal(s.stdout) {
			fmt.Fprint(s.stdout, "\x1b[H\x1b[2J")
		}
		if n, err := s.crowdStatus(); n == 0 || err != nil {
			return err
		}
		select {
		case <-time.After(followEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *session) runsScreen(w io.Writer, all []live.Run) error {
	if len(all) == 0 {
		s.note("no crowd plays on this machine")
	}
	for i, run := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := s.runScreen(w, run); err != nil {
			return err
		}
	}
	return nil
}

// runScreen shows a run, and the round that is being played.
func (s *session) runScreen(w io.Writer, run live.Run) error {
	fields := [][2]string{{"crowd", fmt.Sprintf("%s, seed %d, %d users, process %d", run.Crowd, run.Seed, run.Users, run.PID)},
		{"modes", strings.Join(run.Modes, ", ")}, {"played", fmt.Sprintf("%d of %d", run.Played, run.Rounds*len(run.Modes))},
		{"for", shortDuration(time.Since(run.Began))}, {"now", run.Stage}}
	if run.Hosts > 1 {
		fields = append(fields, [2]string{"hosts", strconv.Itoa(run.Hosts)})
	}
	if run.Part != "" {
		fields = append(fields, [2]string{"part", run.Part})
	}
	if run.Now == nil {
		return fieldTable(w, s.width(), fields...)
	}
	now := run.Now
	sum := now.Sessions()
	if now.Present > 0 { // otherwise the run is of an older version
		fields = append(fields, [2]string{"users", strconv.Itoa(now.Present)})
	}
	for _, sc := range now.Scales {
		fields = append(fields, [2]string{"scaled", scaleText(sc)})
	}
	fields = append(fields, [2]string{"round", fmt.Sprintf("%d, mode %s, %s of %s", now.Number, now.Mode, shortDuration(now.Since), shortDuration(now.Length))},
		[2]string{"sessions", fmt.Sprintf("%d of %d are due, %d began, %d late", now.Due, sum.Intended, sum.Started, sum.Late)},
		[2]string{"of these", fmt.Sprintf("%d achieved, %d failed, %d gave up, %d go on", sum.Achieved, sum.Failed, sum.GivenUp,
			sum.GoOn())},
		[2]string{"crowd's lag p99", shortDuration(now.Late())})
	fields = append(fields, goingOn(now.Events)...)
	if err := fieldTable(w, s.width(), fields...); err != nil {
		return err
	}
	var rows [][]string
	for _, name := range sortedKeys(now.Actions) {
		a := now.Actions[name]
		rows = append(rows, []string{name, strconv.FormatInt(a.Count, 10), strconv.FormatInt(a.Failed, 10), strconv.FormatInt(a.GivenUp, 10),
			shortDuration(a.Planned.P50), shortDuration(a.Planned.P99)})
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return writeTable(w, s.width(), []string{"action", "ended", "failed", "gave up", "waited p50", "p99"}, rows)
}
