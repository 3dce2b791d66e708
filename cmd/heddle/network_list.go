package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

func newNetworkList(s *session) *cobra.Command {
	var filter []string
	quiet := false
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short: "List the networks of this host",
		Example: `  heddle network list
  heddle network list --filter label=tier=web
  heddle network list -o wide
  heddle network list -q
  heddle network list -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.client().NetworksBy(cmd.Context(), filter)
			if err != nil {
				return err
			}
			if quiet {
				return emitIDs(s, all, func(n heddle.Network) string { return n.ID })
			}
			return s.emit("NetworkList", listOf(all), func(w io.Writer) error { return s.networkTable(w, all) })
		},
	}
	s.filterFlag(cmd, &filter, filterKeys{"mode": s.modes})
	s.quietFlag(cmd, &quiet)
	return cmd
}

func (s *session) networkTable(w io.Writer, all []heddle.Network) error {
	if len(all) == 0 {
		s.note("no networks")
		return nil
	}
	columns := []tableColumn[heddle.Network]{
		{"name", func(n heddle.Network) string { return s.brief(n.Name) }},
		{"mode", func(n heddle.Network) string { return n.Mode }},
		{"subnets", func(n heddle.Network) string { return joinList(n.Subnets) }},
		{"reach", formatReach},
		{"id", func(n heddle.Network) string { return s.briefNetworkID(n.ID) }},
	}
	if s.isWide() {
		columns = append(columns, []tableColumn[heddle.Network]{
			{"parent", func(n heddle.Network) string { return n.Parent }},
			{"mtu", func(n heddle.Network) string { return formatBytes(n.MTU) }},
			{"gateways", func(n heddle.Network) string { return joinList(n.Gateways) }},
			{"ranges", func(n heddle.Network) string { return joinList(n.Ranges) }},
			{"options", formatOptions},
			{"labels", func(n heddle.Network) string { return heddle.LabelText(n.Labels) }},
			{"created", func(n heddle.Network) string { return formatTime(n.Created) }},
		}...)
	}
	return writeColumns(w, s.width(), columns, all)
}

func (s *session) briefNetworkID(id string) string {
	if s.isWide() {
		return id
	}
	return id[:min(len(id), heddle.ShortID)]
}
