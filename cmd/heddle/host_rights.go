package main

import (
	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/door/client"
)

func newHostGrant(s *session) *cobra.Command {
	return s.rightsCommand(&cobra.Command{
		Use:   "grant NAME RIGHT",
		Short: "Let a host write what all hosts share",
		Long: `grant gives a host a right that otherwise only hosts have that keep the store:

  networks   create, change and delete networks that hosts share

Whoever takes that host over has the right, too. 'heddle host list' shows who may.`,
		Example: "  heddle host grant host4 networks",
	}, "HostGrant", "host %s may write %s from now on",
		func(q *client.RightsRequest, rights []string) { q.Grant = rights })
}

func newHostRevoke(s *session) *cobra.Command {
	return s.rightsCommand(&cobra.Command{
		Use:   "revoke NAME RIGHT",
		Short: "Take back what 'heddle host grant' gave",
		Long: `revoke takes a host a right that it was granted. What it wrote stays. A host that
keeps the store has all rights: 'heddle host demote' comes first.`,
		Example: "  heddle host revoke host4 networks",
	}, "HostRevocation", "host %s may no longer write %s",
		func(q *client.RightsRequest, rights []string) { q.Revoke = rights })
}

func (s *session) rightsCommand(cmd *cobra.Command, kind, done string, set func(*client.RightsRequest, []string)) *cobra.Command {
	q, file := client.RightsRequest{}, ""
	cmd.Args = withArgs("NAME", "RIGHT")
	cmd.ValidArgsFunction = s.completeFrom(s.hostNames, rightNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		q.Name = args[0]
		set(&q, args[1:])
		if q.Credential, err = credential(file); err != nil {
			return err
		}
		commands, err := s.client().Rights(cmd.Context(), q)
		if err != nil {
			return err
		}
		if q.DryRun {
			return s.emitCommands(commands)
		}
		return s.emitDone(kind, map[string]any{"name": q.Name, "rights": args[1:]}, done, q.Name, args[1])
	}
	credentialFlag(cmd, &file)
	dryRunFlag(cmd, &q.DryRun)
	return cmd
}

// rightNames lists all rights.
func rightNames() []string { return []string{"networks"} }
