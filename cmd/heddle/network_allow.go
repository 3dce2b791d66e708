package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/door/client"
)

func newNetworkAllow(s *session) *cobra.Command {
	return s.permissionCommand(&cobra.Command{
		Use:   "allow A B",
		Short: "Permit traffic between two networks, both ways",
		Long: `Networks are isolated from each other. allow joins two of them, both ways, until
'heddle network disallow' or until one of them is deleted.`,
		Example: "  heddle network allow front back --dry-run\n  heddle network allow front back",
	}, true, "allowed", (*client.Client).Allow)
}

func newNetworkDisallow(s *session) *cobra.Command {
	return s.permissionCommand(&cobra.Command{
		Use:   "disallow A B",
		Short: "Isolate two networks from each other again",
		Long: `disallow takes back what 'heddle network allow' gave, in whichever order the two
were named. Without a permission there is nothing to do: that is no error. Connections
that are established go on until they end.`,
		Example: "  heddle network disallow front back --dry-run\n  heddle network disallow front back",
	}, false, "not allowed", (*client.Client).Disallow)
}

// permissionCommand completes a command that changes whether traffic between two networks is allowed.
func (s *session) permissionCommand(cmd *cobra.Command, on bool, outcome string,
	change func(c *client.Client, ctx context.Context, first, second string) error) *cobra.Command {
	dryRun := false
	cmd.Args, cmd.ValidArgsFunction = withArgs("A", "B"), s.completeFrom(s.networkNames, s.networkNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var names [2]string
		for i := range names {
			var err error
			if names[i], err = s.networkName(cmd.Context(), args[i]); err != nil {
				return err
			}
		}
		if dryRun {
			commands, err := s.client().PermissionCommands(cmd.Context(), names[0], names[1], on)
			if err != nil {
				return err
			}
			return s.emitCommands(commands)
		}
		if err := change(s.client(), cmd.Context(), names[0], names[1]); err != nil {
			return err
		}
		return s.emitDone("Permission", permissionResult{names, on}, "traffic between %s and %s %s",
			names[0], names[1], outcome)
	}
	dryRunFlag(cmd, &dryRun)
	return cmd
}

// permissionResult is the output document of a permission.
type permissionResult struct {
	Networks [2]string `json:"networks"`
	Allowed  bool      `json:"allowed"`
}
