package main

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

func newNetwork(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "network", Short: "Networks: named address spaces with a mode", GroupID: groupNetworks},
		newNetworkCreate(s), newNetworkList(s), newNetworkShow(s), newNetworkAllow(s), newNetworkDelete(s))
}

func newNetworkList(s *session) *cobra.Command {
	var filter []string
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short:   "List the networks of this host",
		Example: "  heddle network list\n  heddle network list --filter label=tier=web\n  heddle network list -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.client().NetworksBy(cmd.Context(), filter)
			if err != nil {
				return err
			}
			return s.emit("NetworkList", listOf(all), func(w io.Writer) error { return s.networkTable(w, all) })
		},
	}
	s.filterFlag(cmd, &filter, map[string]func() []string{"mode": s.modes})
	return cmd
}

func (s *session) networkTable(w io.Writer, all []heddle.Network) error {
	if len(all) == 0 {
		s.note("no networks")
		return nil
	}
	var rows [][]string
	for _, n := range all {
		rows = append(rows, []string{n.Name, n.Mode, joinList(n.Subnets), n.Parent, formatBytes(n.MTU), formatReach(n)})
	}
	return writeTable(w, s.width(), []string{"name", "mode", "subnets", "parent", "mtu", "reach"}, rows)
}

func newNetworkShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Args: withArgs("NAME"), ValidArgsFunction: s.completeFrom(s.networkNames),
		Short:   "Show a network's settings",
		Example: "  heddle network show front",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := heddle.CheckNetworkName(args[0]); err != nil {
				return err
			}
			n, err := s.client().Network(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return s.emit("Network", n, func(w io.Writer) error {
				all, err := s.client().Networks(cmd.Context())
				if err != nil {
					return err
				}
				return s.networkFields(w, n, all)
			})
		},
	}
}

// networkFields shows one network; all has the networks that traffic may be allowed with.
func (s *session) networkFields(w io.Writer, n heddle.Network, all []heddle.Network) error {
	var subnets, options []string
	for _, p := range n.Subnets {
		gateway := "no gateway"
		if g, ok := n.GatewayFor(p.Addr()); ok {
			gateway = "gateway " + g.String()
		}
		subnets = append(subnets, p.String()+", "+gateway)
	}
	for k, v := range n.Options {
		options = append(options, k+"="+v)
	}
	sort.Strings(options)
	return fieldTable(w, s.width(), [2]string{"name", n.Name}, [2]string{"id", n.ID}, [2]string{"mode", n.Mode},
		[2]string{"subnets", strings.Join(subnets, cellLineBreak)}, [2]string{"ranges", joinList(n.Ranges)}, [2]string{"reserved", joinList(n.Reserved)},
		[2]string{"parent", n.Parent}, [2]string{"MTU", formatBytes(n.MTU)}, [2]string{"reach", formatReach(n)},
		[2]string{"options", strings.Join(options, ", ")}, [2]string{"labels", heddle.LabelText(n.Labels)}, [2]string{"allowed", strings.Join(allowedNetworks(n, all), ", ")},
		[2]string{"created", formatTime(n.Created)}, [2]string{"limits", strings.Join(n.Limits, cellLineBreak)})
}

// allowedNetworks returns the names of the networks with which traffic is allowed. Only one
// of two networks has the record.
func allowedNetworks(n heddle.Network, all []heddle.Network) []string {
	var names []string
	for _, o := range all {
		if slices.Contains(n.Allow, o.ID) || slices.Contains(o.Allow, n.ID) {
			names = append(names, o.Name)
		}
	}
	return names
}

func newNetworkDelete(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Args: withArgs("NAME"), ValidArgsFunction: s.completeFrom(s.networkNames),
		Short:   "Delete a network without endpoints",
		Example: "  heddle network delete closed",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := heddle.CheckNetworkName(args[0]); err != nil {
				return err
			}
			defer s.showProgress("deleting the network")()
			if err := s.client().DeleteNetwork(cmd.Context(), args[0]); err != nil {
				return err
			}
			return s.emitDone("NetworkDeletion", map[string]string{"name": args[0]}, "network %s deleted", args[0])
		},
	}
}

func newNetworkAllow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "allow A B", Args: withArgs("A", "B"), ValidArgsFunction: s.completeFrom(s.networkNames, s.networkNames),
		Short:   "Permit traffic between two networks, both ways",
		Long:    "Networks are isolated from each other. allow joins two of them, both ways, until\none of them is deleted.",
		Example: "  heddle network allow front back",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.client().Allow(cmd.Context(), args[0], args[1]); err != nil {
				return err
			}
			return s.emitDone("Permission", map[string][]string{"networks": args}, "traffic between %s and %s allowed", args[0], args[1])
		},
	}
}

func joinList[T netip.Addr | netip.Prefix](all []T) string {
	var out []string
	for _, a := range all {
		out = append(out, fmt.Sprint(a))
	}
	return strings.Join(out, ",")
}

func formatReach(n heddle.Network) string {
	if n.Internal {
		return "internal"
	}
	return "outside"
}

// formatBytes writes a number of bytes, "" for 0.
func formatBytes(bytes int) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%d B", bytes)
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
