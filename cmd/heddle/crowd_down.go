package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/crowd/engine"
	"github.com/heddle-network/heddle/crowd/live"
)

func newCrowdDown(s *session) *cobra.Command {
	f := &crowdTeller{session: s}
	cmd := &cobra.Command{
		Use: "down", Args: withArgs(),
		Short: "End a crowd that plays",
		Long: `down ends a 'heddle crowd run' that goes on, as Ctrl-C does there: the run reports what was
measured so far, and removes its users, services and lab. The command waits until that is done,
which takes a minute or more with thousands of users. If the command is interrupted, the run ends
all the same. 'heddle crowd run --resume' plays the missing rounds later.

Where none goes on, down removes what runs --as docker, podman or lxc have left that were killed.

A run is ended by its own user and by root. If there are several, --pid says which one.`,
		Example: "  heddle crowd down\n  heddle crowd down -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if done, err := f.sweep(cmd.Context()); done || err != nil {
				return err
			}
			run, err := f.run()
			if err != nil {
				return err
			}
			shown := f.showProgress(fmt.Sprintf("crowd %s of process %d ends", run.Crowd, run.PID))
			err = live.End(cmd.Context(), run.PID)
			shown()
			if err != nil {
				return err
			}
			return f.emitDone("CrowdEnded", crowdEnded{run.PID, run.Crowd}, "%s has ended", run.Crowd)
		},
	}
	f.pidFlag(cmd, cmd.Flags())
	return cmd
}

// crowdSwept is the output document of crowd down where no run goes on.
type crowdSwept struct {
	// Processes are those of the runs that were killed, whose containers were removed.
	Processes []string `json:"processes"`
}

// sweep removes what runs have left that were killed, if none goes on. It reports whether there was something.
func (f *crowdTeller) sweep(ctx context.Context) (bool, error) {
	if all, err := live.Find(); f.pid != 0 || err != nil || len(all) > 0 {
		return false, nil // whoever asks for the run says what is wrong
	}
	of, err := engine.Sweep(ctx)
	if err != nil || len(of) == 0 {
		return false, err
	}
	return true, f.emitDone("CrowdSwept", crowdSwept{of}, "removed what was left of the crowd of process %s", strings.Join(of, ", "))
}

// crowdEnded is the output document of crowd down.
type crowdEnded struct {
	PID   int    `json:"pid"`
	Crowd string `json:"crowd"`
}
