package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

func newHost(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "host", Short: "Hosts: the cluster that this host belongs to", GroupID: groupNetworks},
		newHostList(s), newHostToken(s), newHostRemove(s), newHostReplace(s), newHostRanges(s))
}

func newHostList(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: takes(),
		Short: "List the hosts of the cluster",
		Long: `list shows the hosts of the cluster. The role is the host's in the store: its
leader, a voter, a learner that is about to become one, or a client. A host is
away while its agent is not connected to the store, and refused if this host does
not take on what it says of itself. Records of hosts that are not taken on are told
below.`,
		Example: "  heddle host list\n  heddle host list -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.client().Hosts(cmd.Context())
			if err != nil {
				return err
			}
			return s.emit("HostList", listOf(all), func(w io.Writer) error { return s.clusterTable(w, all) })
		},
	}
}

func (s *session) clusterTable(w io.Writer, all []client.HostStatus) error {
	colours := map[string]string{"alive": green, "away": red, "refused": red}
	var rows [][]string
	for _, h := range all {
		name := h.Name
		if h.Self {
			name += " (this host)"
		}
		rows = append(rows, []string{name, joined(h.Underlay), h.Role, s.colour(w, colours[h.State], h.State), fmt.Sprint(h.Blocks), h.Version})
	}
	if err := writeTable(w, s.width(), []string{"name", "underlay", "role", "state", "blocks", "version"}, rows); err != nil {
		return err
	}
	for _, h := range all {
		for _, why := range h.Refused {
			if err := say(w, "%s: a record of %s is not taken on: %s\n", s.colour(w, yellow, "warning"), h.Name, why); err != nil {
				return err
			}
		}
	}
	return nil
}

func newHostToken(s *session) *cobra.Command {
	life, q, file := 24*time.Hour, client.TokenRequest{Uses: 1}, ""
	cmd := &cobra.Command{
		Use: "token", Args: takes(),
		Short: "Make a token that lets a host into the cluster",
		Long: `token prints a token. The new host's agent is started with it and the address of
a host that keeps the store:

  heddled --join ADDR --token TOKEN

Who has the token can join: keep it as a password. The store has its hash only.`,
		Example: "  heddle host token\n  heddle host token --ttl 1h --uses 5",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if life < time.Second {
				return heddle.Errorf(heddle.BadArgument, "--ttl", life.String(), "give a second or more, such as 24h")
			}
			q.Seconds = int64(life / time.Second)
			if q.Credential, err = credential(file); err != nil {
				return err
			}
			t, err := s.client().HostToken(cmd.Context(), q)
			if err != nil {
				return err
			}
			return s.emit("Token", t, func(w io.Writer) error {
				if len(t.Join) > 0 && isTerminal(s.stdout) {
					s.note("until %s: heddled --join %s --token …", moment(t.Expires), t.Join[0])
				}
				_, err := fmt.Fprintln(w, t.Token)
				return err
			})
		},
	}
	cmd.Flags().DurationVar(&life, "ttl", life, "how long the token lets hosts in")
	cmd.Flags().IntVar(&q.Uses, "uses", q.Uses, "how many hosts it lets in")
	credentialFlag(cmd, &file)
	return cmd
}

func newHostRemove(s *session) *cobra.Command {
	q, file := client.RemovalRequest{}, ""
	cmd := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Args: takes("NAME"), ValidArgsFunction: s.completes(s.hostNames),
		Short: "Remove a host that does not come back",
		Long: `remove takes a host out of the cluster for good: its certificate is refused from
then on, and its address blocks go to other hosts. It must be down, or cut off
for good: its containers' addresses are given out again.`,
		Example: "  heddle host remove host3\n  heddle host remove host3 --credential operator.pem",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			q.Name = args[0]
			if q.Credential, err = credential(file); err != nil {
				return err
			}
			defer s.working("removing the host")()
			if err := s.client().RemoveHost(cmd.Context(), q); err != nil {
				return err
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
		Use: "replace OLD NEW", Args: takes("OLD", "NEW"), ValidArgsFunction: s.completes(s.hostNames, s.hostNames),
		Short: "Replace a host that keeps the store by another one",
		Long: `replace removes the host OLD, which kept the store and does not come back, and
has the host NEW, which is in the cluster already, keep it in OLD's place.`,
		Example: "  heddle host replace host2 host4",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			q.Name, q.By = args[0], args[1]
			if q.Credential, err = credential(file); err != nil {
				return err
			}
			defer s.working("replacing the host")()
			if err := s.client().RemoveHost(cmd.Context(), q); err != nil {
				return err
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
}

func credentialFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "credential", "", "`file` with the operator's credential (default: that of this host, if it keeps the store)")
}

func credential(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", heddle.Wrap(heddle.BadArgument, "read credential", file, err, "name a readable file with --credential")
	}
	return string(text), nil
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
