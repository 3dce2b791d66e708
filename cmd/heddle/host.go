package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/door/client"
)

func newHost(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "host", Short: "Hosts: the cluster that this host belongs to", GroupID: groupNetworks},
		newHostList(s), newHostToken(s), newHostPromote(s), newHostDemote(s), newHostGrant(s), newHostRevoke(s), newHostRemove(s), newHostReplace(s), newHostRanges(s), newHostAuthority(s))
}

func newHostList(s *session) *cobra.Command {
	quiet := false
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short: "List the hosts of the cluster",
		Long: `list shows the hosts that were let into the cluster. The role is the host's in
the store: its leader, a voter, a learner that has no vote (yet), or a client. A
host is away while its agent is not connected to the store, absent if it has never
appeared, refused if this host does not take on what it says of itself, and unknown
while this host does not reach the store. May is what it may write that hosts share
('heddle host grant'). Records of hosts that are not taken on are told below. While
the store does not answer, a warning says that hosts may be missing.

-o wide also shows how each came: let in is when, token the name of its token, and
key the fingerprint of its key.`,
		Example: "  heddle host list\n  heddle host list -o wide\n  heddle host list -q\n  heddle host list -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.client().Hosts(cmd.Context())
			if err != nil {
				return err
			}
			if quiet {
				return emitIDs(s, all, func(h client.HostStatus) string { return h.Name })
			}
			return s.emit("HostList", listOf(all), func(w io.Writer) error {
				s.noteKeepers(all)
				return s.clusterTable(w, all)
			})
		},
	}
	s.quietFlag(cmd, &quiet)
	return cmd
}

func (s *session) clusterTable(w io.Writer, all []client.HostStatus) error {
	colours := map[string]string{"alive": green, "away": red, "absent": yellow, "refused": red}
	columns := []tableColumn[client.HostStatus]{
		{"name", func(h client.HostStatus) string {
			if h.Self {
				return s.brief(h.Name) + " (this host)"
			}
			return s.brief(h.Name)
		}},
		{"underlay", func(h client.HostStatus) string { return joinList(h.Underlay) }},
		{"role", func(h client.HostStatus) string { return h.Role }},
		{"may", func(h client.HostStatus) string { return strings.Join(h.May, ",") }},
		{"state", func(h client.HostStatus) string { return s.colour(w, colours[h.State], h.State) }},
		{"blocks", func(h client.HostStatus) string { return fmt.Sprint(h.Blocks) }},
	}
	if s.isWide() {
		columns = append(columns, []tableColumn[client.HostStatus]{
			{"let in", admittedAt},
			{"token", func(h client.HostStatus) string { return h.Token }},
			{"key", func(h client.HostStatus) string { return h.Key }},
			{"version", func(h client.HostStatus) string { return h.Version }},
		}...)
	}
	if err := writeColumns(w, s.width(), columns, all); err != nil {
		return err
	}
	for _, h := range all {
		if h.Incomplete != "" {
			if err := printLine(w, "%s: hosts that never appeared may be missing: %s\n", s.colour(w, yellow, "warning"), h.Incomplete); err != nil {
				return err
			}
		}
		for _, why := range h.Refused {
			if err := printLine(w, "%s: a record of %s is not taken on: %s\n", s.colour(w, yellow, "warning"), h.Name, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// admittedAt is when the host was let in; "" if that is not known.
func admittedAt(h client.HostStatus) string {
	if h.Admitted.IsZero() {
		return ""
	}
	return formatTime(h.Admitted)
}

func newHostRemove(s *session) *cobra.Command {
	q, file := client.RemovalRequest{}, ""
	cmd := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Args: withArgs("NAME"), ValidArgsFunction: s.completeFrom(s.hostNames),
		Short: "Remove a host that does not come back",
		Long: `remove takes a host out of the cluster for good: its certificates are refused from
then on, and its address blocks go to other hosts. It must be down, or cut off
for good: its containers' addresses are given out again. So is a host removed that
was let in and has never appeared. For a host that has just died the command waits
until the store has noticed, some twenty seconds.`,
		Example: "  heddle host remove host3\n  heddle host remove host3 --credential operator.pem",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			q.Name = args[0]
			if q.Credential, err = credential(file); err != nil {
				return err
			}
			defer s.showProgress("removing the host")()
			commands, err := s.client().RemoveHost(cmd.Context(), q)
			if err != nil {
				return err
			}
			if q.DryRun {
				return s.emitCommands(commands)
			}
			return s.emitDone("HostRemoval", map[string]string{"name": q.Name}, "host %s removed", q.Name)
		},
	}
	removalFlags(cmd, &q, &file)
	return cmd
}

func newHostReplace(s *session) *cobra.Command {
	q, file := client.RemovalRequest{}, ""
	cmd := &cobra.Command{
		Use: "replace OLD NEW", Args: withArgs("OLD", "NEW"), ValidArgsFunction: s.completeFrom(s.hostNames, s.hostNames),
		Short: "Replace a host that keeps the store by another one",
		Long: `replace removes the host OLD, which kept the store and does not come back, and
has the host NEW, which is in the cluster already, keep it in OLD's place: NEW is
named as 'heddle host promote' does. For a host that has just died the command waits
until the store has noticed, some twenty seconds.`,
		Example: "  heddle host replace host2 host4",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			q.Name, q.By = args[0], args[1]
			if q.Credential, err = credential(file); err != nil {
				return err
			}
			defer s.showProgress("replacing the host")()
			commands, err := s.client().RemoveHost(cmd.Context(), q)
			if err != nil {
				return err
			}
			if q.DryRun {
				return s.emitCommands(commands)
			}
			return s.emitDone("HostReplacement", map[string]string{"old": q.Name, "new": q.By}, "host %s removed, %s keeps the store in its place", q.Name, q.By)
		},
	}
	removalFlags(cmd, &q, &file)
	return cmd
}

func removalFlags(cmd *cobra.Command, q *client.RemovalRequest, file *string) {
	cmd.Flags().BoolVar(&q.Force, "force", false, "also a host whose agent is connected")
	credentialFlag(cmd, file)
	dryRunFlag(cmd, &q.DryRun)
}

func credentialFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "credential", "", "`file` with the operator's credential, which only its owner can read (default: that of this host, if it keeps the store)")
}

func credential(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	return readSecretFile(file, "the operator's credential")
}

func (s *session) hostNames() (names []string) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	all, _ := s.client().Hosts(ctx)
	for _, h := range all {
		names = append(names, h.Name)
	}
	return names
}
