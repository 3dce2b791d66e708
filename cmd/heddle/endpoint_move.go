package main

import (
	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

// moveResult is the output document of a move.
type moveResult struct {
	Endpoint heddle.Endpoint `json:"endpoint"`
	To       string          `json:"to"`
}

func newEndpointMove(s *session) *cobra.Command {
	to, dryRun := "", false
	cmd := &cobra.Command{
		Use: "move ID[/IF] --to HOST", Args: withArgs("ID"), ValidArgsFunction: s.completeFrom(s.endpointIDs),
		Short: "Send an endpoint's addresses to another host",
		Long: `move detaches an endpoint of a network that several hosts have, and sends its
addresses and MAC to another host: when an endpoint of the same id is attached
there, it gets them. From then on all hosts reach it there.`,
		Example: "  heddle endpoint move web --to host2 --dry-run\n  heddle endpoint move web --to host2",
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return badCommand(cmd, "flag --to is missing")
			}
			defer s.showProgress("moving")()
			var e heddle.Endpoint
			var commands []string
			err := s.onEndpoint(cmd.Context(), args[0], toChange, func(id heddle.EndpointID) (err error) {
				if dryRun {
					commands, err = s.client().MoveCommands(cmd.Context(), id, to)
				} else {
					e, err = s.client().Move(cmd.Context(), id, to)
				}
				return err
			})
			if err != nil {
				return err
			}
			if dryRun {
				return s.emitCommands(commands)
			}
			return s.emitDone("Movement", moveResult{e, to}, "endpoint %s (%s) is to be attached on %s now", e.ID, joinList(e.Addrs), to)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the `host` that it goes to")
	dryRunFlag(cmd, &dryRun)
	cmd.RegisterFlagCompletionFunc("to", s.completeFrom(s.peerNames))
	return cmd
}
