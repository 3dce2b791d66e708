package main

import (
	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

func newEndpointLabel(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "label ID[/IF] KEY=VALUE|KEY- ...", ValidArgsFunction: s.completeFrom(s.endpointIDs),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return badCommand(cmd, "give an endpoint, and at least one label")
			}
			return nil
		},
		Short: "Change an endpoint's labels",
		Long: `label sets labels of an endpoint (KEY=VALUE), and removes labels (KEY-). All others stay as
they are. Lists and events are filtered by labels.`,
		Example: "  heddle endpoint label web app=shop tier=front\n  heddle endpoint label web tier-",
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := heddle.ParseLabelChange(args[1:])
			if err != nil {
				return err
			}
			var e heddle.Endpoint
			err = s.onEndpoint(cmd.Context(), args[0], toChange, func(id heddle.EndpointID) (err error) {
				e, err = s.client().Label(cmd.Context(), id, change)
				return err
			})
			if err != nil {
				return err
			}
			words := "no labels"
			if len(e.Labels) > 0 {
				words = "labels " + heddle.LabelText(e.Labels)
			}
			return s.emitDone("Endpoint", e, "endpoint %s has %s", e.ID, words)
		},
	}
}
