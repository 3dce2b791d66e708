package main

import (
	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

// movement is the output document of a move.
type movement struct {
	Endpoint heddle.Endpoint `json:"endpoint"`
	To       string          `json:"to"`
}

func newEndpointMove(s *session) *cobra.Command {
	to := ""
	cmd := &cobra.Command{
		Use: "move ID[/IF] --to HOST", Args: takes("ID"), ValidArgsFunction: s.completes(s.endpointIDs),
		Short: "Send an endpoint's addresses to another host",
		Long: `move detaches an endpoint of a network that several hosts have, and sends its
addresses and MAC to another host: when an endpoint of the same id is attached
there, it gets them. From then on all hosts reach it there.`,
		Example: "  heddle endpoint move web --to host2",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := heddle.ParseEndpointID(args[0])
			if err != nil {
				return err
			}
			if to == "" {
				return badCommand(cmd, "flag --to is missing")
			}
			defer s.working("moving")()
			e, err := s.client().Move(cmd.Context(), id, to)
			if err != nil {
				return err
			}
			return s.emitDone("Movement", movement{e, to}, "endpoint %s (%s) is to be attached on %s now", id, joined(e.Addrs), to)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the `host` that it goes to")
	return cmd
}
