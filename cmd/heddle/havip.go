package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
)

func newHAVIP(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "havip", Short: "Addresses that one of several endpoints holds at a time", GroupID: groupNetworks,
		Long: `A HAVIP is a high-availability virtual IP address of a network of mode bridge. Several
endpoints, its members, may have it, and one at a time holds it: a member takes it over
by announcing it (a gratuitous ARP, or an unsolicited neighbour advertisement), as
keepalived does. Nobody else can announce or use it. What is sent to the address, also
from outside by the ports that it publishes, goes to its holder.`},
		newHAVIPCreate(s), newHAVIPList(s), newHAVIPShow(s), newHAVIPAssign(s), newHAVIPDelete(s))
}

func newHAVIPList(s *session) *cobra.Command {
	quiet := false
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short:   "List the HAVIPs of this host",
		Example: "  heddle havip list\n  heddle havip list -q\n  heddle havip list -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.client().HAVIPs(cmd.Context())
			if err != nil {
				return err
			}
			if quiet {
				return emitIDs(s, all, func(h havip.Shown) string { return h.Name })
			}
			return s.emit("HAVIPList", listOf(all), func(w io.Writer) error { return s.havipTable(w, all) })
		},
	}
	s.quietFlag(cmd, &quiet)
	return cmd
}

func (s *session) havipTable(w io.Writer, all []havip.Shown) error {
	if len(all) == 0 {
		s.note("no HAVIPs")
		return nil
	}
	return writeColumns(w, s.width(), []tableColumn[havip.Shown]{
		{"name", func(h havip.Shown) string { return s.brief(h.Name) }},
		{"network", func(h havip.Shown) string { return s.brief(h.NetworkName) }},
		{"address", func(h havip.Shown) string { return h.Address.String() }},
		{"holder", func(h havip.Shown) string { return s.holderOf(h) }},
		{"members", func(h havip.Shown) string { return h.Members.String() }},
	}, all)
}

// holderOf names who holds the address.
func (s *session) holderOf(h havip.Shown) string {
	if h.Holder == nil {
		return "nobody"
	}
	return s.briefID(*h.Holder)
}

func newHAVIPShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Args: withArgs("NAME"), ValidArgsFunction: s.completeFrom(s.havipNames),
		Short:   "Show a HAVIP: who may hold it, and who does",
		Example: "  heddle havip show front\n  heddle havip show front -o yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := s.client().HAVIP(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return s.emit("HAVIP", h, func(w io.Writer) error {
				var members, ports []string
				for _, id := range h.Endpoints {
					members = append(members, s.briefID(id))
				}
				for _, p := range h.Ports {
					ports = append(ports, p.String())
				}
				return fieldTable(w, s.width(), [2]string{"name", h.Name}, [2]string{"network", h.NetworkName}, [2]string{"address", h.Address.String()},
					[2]string{"holder", s.holderOf(h)}, [2]string{"members", h.Members.String()}, [2]string{"endpoints", strings.Join(members, cellLineBreak)},
					[2]string{"ports", strings.Join(ports, cellLineBreak)})
			})
		},
	}
}

func newHAVIPAssign(s *session) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use: "assign NAME ID[/IF]", Args: withArgs("NAME", "ID[/IF]"), ValidArgsFunction: s.completeFrom(s.havipNames, s.endpointIDs),
		Short: "Give a HAVIP to one of its members",
		Long: `assign gives the address to a member, until another one announces it. The member itself
is not told: give its interface the address.`,
		Example: "  heddle havip assign front lb2\n  heddle havip assign front lb2 --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.onEndpoint(cmd.Context(), args[1], toChange, func(id heddle.EndpointID) error {
				r, err := s.client().AssignHAVIP(cmd.Context(), args[0], id, dryRun)
				if err != nil {
					return err
				}
				if dryRun {
					return s.emitCommands(r.Commands)
				}
				return s.emitDone("HAVIP", r.HAVIP, "endpoint %s holds HAVIP %s", id, args[0])
			})
		},
	}
	dryRunFlag(cmd, &dryRun)
	return cmd
}

func newHAVIPDelete(s *session) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Args: withArgs("NAME"), ValidArgsFunction: s.completeFrom(s.havipNames),
		Short:   "Delete a HAVIP",
		Long:    "delete removes a HAVIP. Its members can use the address no more, at once.",
		Example: "  heddle havip delete front",
		RunE: func(cmd *cobra.Command, args []string) error {
			if dryRun {
				commands, err := s.client().HAVIPDeletion(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return s.emitCommands(commands)
			}
			if err := s.client().DeleteHAVIP(cmd.Context(), args[0]); err != nil {
				return err
			}
			return s.emitDone("HAVIPDeletion", map[string]any{"name": args[0]}, "HAVIP %s deleted", args[0])
		},
	}
	dryRunFlag(cmd, &dryRun)
	return cmd
}

func (s *session) havipNames() (names []string) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	all, _ := s.client().HAVIPs(ctx)
	for _, h := range all {
		names = append(names, h.Name)
	}
	return names
}
