package main

import (
	"fmt"

	"github.com/spf13/cobra"

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

A run is ended by its own user and by root. If there are several, --pid says which one.`,
		Example: "  heddle crowd down\n  heddle crowd down -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
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

// crowdEnded is the output document of crowd down.
type crowdEnded struct {
	PID   int    `json:"pid"`
	Crowd string `json:"crowd"`
}
