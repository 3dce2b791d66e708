package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

// deletionResult is the output document of a network's deletion.
type deletionResult struct {
	Name string `json:"name"`
	// Found says that there was a network to delete.
	Found bool `json:"found"`
}

func newNetworkDelete(s *session) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Args: withArgs("NAME"),
		ValidArgsFunction: s.completeFrom(s.networkNames),
		Short:             "Delete a network without endpoints",
		Long: `delete removes a network, on all hosts that have it. A network that is not there
is deleted already: that is no error.`,
		Example: "  heddle network delete closed --dry-run\n  heddle network delete closed",
		RunE: func(cmd *cobra.Command, args []string) error {
			defer s.showProgress("deleting the network")()
			done := deletionResult{Name: args[0]}
			var commands []string
			err := s.onNetwork(cmd.Context(), args[0], toChange, func(name string) (err error) {
				done.Name = name
				if dryRun {
					commands, err = s.client().DeleteCommands(cmd.Context(), name)
				} else {
					err = s.client().DeleteNetwork(cmd.Context(), name)
				}
				return err
			})
			done.Found = err == nil
			switch {
			case err != nil && !errors.Is(err, heddle.NoNetwork.Sentinel()):
				return err
			case dryRun:
				return s.emitCommands(commands)
			case !done.Found:
				return s.emitDone("NetworkDeletion", done, "network %s was not there", done.Name)
			}
			return s.emitDone("NetworkDeletion", done, "network %s deleted", done.Name)
		},
	}
	dryRunFlag(cmd, &dryRun)
	return cmd
}
