package main

import (
	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

// moveResult is the output document of a move.
type moveResult struct {
	Endpoint heddle.Endpoint `json:"endpoint"`
	To       string          `json:"to,omitempty"`
}

func newEndpointMove(s *session) *cobra.Command {
	to, cancel, dryRun := "", false, false
	cmd := &cobra.Command{
		Use: "move ID[/IF] (--to HOST | --cancel)", Args: withArgs("ID"), ValidArgsFunction: s.completeFrom(s.endpointIDs),
		Short: "Send an endpoint to another host",
		Long: `move detaches an endpoint of a network that several hosts have, and sends its
addresses and MAC to another host: when an endpoint of the same id is attached
there, it gets them. From then on all hosts reach it there.

Where the hypervisor has plugged in the endpoint's NIC, HOST is another of its machines.
move lets that machine take over the NIC, for ten minutes, with its MAC address, its
addresses and its switch port. The endpoint goes on until an endpoint of the same id is
attached there with --move-from; then it ends here. With --cancel the NIC stays, or comes
back, unless the move has ended.`,
		Example: "  heddle endpoint move web --to host2 --dry-run\n  heddle endpoint move web --to host2",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (to == "") != cancel {
				return badCommand(cmd, "give one of --to and --cancel")
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
			if cancel {
				return s.emitDone("Movement", moveResult{Endpoint: e}, "endpoint %s stays here", e.ID)
			}
			if e.MovesTo != "" {
				return s.emitDone("Movement", moveResult{e, to}, "machine %s may take over endpoint %s (%s): attach it there with --move-from", to, e.ID, joinList(e.Addrs))
			}
			return s.emitDone("Movement", moveResult{e, to}, "endpoint %s (%s) is to be attached on %s now", e.ID, joinList(e.Addrs), to)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the `host` that it goes to")
	cmd.Flags().BoolVar(&cancel, "cancel", false, "keep an endpoint that another machine may take over, or take it back")
	dryRunFlag(cmd, &dryRun)
	cmd.RegisterFlagCompletionFunc("to", s.completeFrom(s.peerNames))
	return cmd
}
