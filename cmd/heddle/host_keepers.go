package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/door/client"
)

func newHostPromote(s *session) *cobra.Command {
	return s.keepersCommand(&cobra.Command{
		Use:   "promote NAME…",
		Short: "Name hosts that are to keep the store",
		Long: `promote names hosts as keepers of the store, all of them or none. Their agents
fetch the records, the cluster's authority and the operator's credential, and vote
when they have all of them. No host keeps the store that was not named: whoever has
a keeper's state folder owns the cluster.

Three keepers survive the loss of one host, five that of two. Of an even number one
has no vote and stands by.`,
		Example: "  heddle host promote host2 host3",
	}, "HostPromotion", "%s named: 'heddle host list' shows when they keep the store",
		func(q *client.KeepersRequest, names []string) { q.Promote = names })
}

func newHostDemote(s *session) *cobra.Command {
	return s.keepersCommand(&cobra.Command{
		Use:   "demote NAME…",
		Short: "Have hosts keep the store no more",
		Long: `demote takes hosts their part in keeping the store, all of them or none. They
stay in the cluster, and delete the cluster's authority, the operator's credential
and the records. Whoever read them before has them still.`,
		Example: "  heddle host demote host3",
	}, "HostDemotion", "%s named no more: 'heddle host list' shows when others keep the store",
		func(q *client.KeepersRequest, names []string) { q.Demote = names })
}

func (s *session) keepersCommand(cmd *cobra.Command, kind, done string, set func(*client.KeepersRequest, []string)) *cobra.Command {
	q, file := client.KeepersRequest{}, ""
	cmd.Args = func(cmd *cobra.Command, args []string) error { return withArgs("NAME")(cmd, args[:min(len(args), 1)]) }
	cmd.ValidArgsFunction = s.completeFrom(s.hostNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		set(&q, args)
		if q.Credential, err = credential(file); err != nil {
			return err
		}
		commands, err := s.client().Keepers(cmd.Context(), q)
		if err != nil {
			return err
		}
		if q.DryRun {
			return s.emitCommands(commands)
		}
		return s.emitDone(kind, map[string][]string{"names": args}, done, strings.Join(args, ", "))
	}
	credentialFlag(cmd, &file)
	dryRunFlag(cmd, &q.DryRun)
	return cmd
}

// noteKeepers prints suggestions about which hosts keep the store.
func (s *session) noteKeepers(all []client.HostStatus) {
	if advice := client.AdviceOnKeepers(all); advice != "" {
		s.note("%s", advice)
	}
}
