package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/path"
)

func newPath(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "path", Short: "Paths: the ways to other hosts", GroupID: groupNetworks}, newPathList(s))
}

func newPathList(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short: "List the paths to other hosts, and what they carry",
		Long: `list shows how packets reach each other host. The path MTU is the largest IP
packet that the underlay carries there, as it was found by sending it; containers
have what is left of it besides the tunnel's headers. Checksums are those that
are left to the NIC: where they arrive spoiled, the agent has them computed in
software.`,
		Example: "  heddle path list\n  heddle path list -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.client().Peers(cmd.Context())
			if err != nil {
				return err
			}
			return s.emit("PathList", listOf(all), func(w io.Writer) error { return s.pathTable(w, all) })
		},
	}
}

func (s *session) pathTable(w io.Writer, all []heddle.PeerStatus) error {
	if len(all) == 0 {
		s.note("no other hosts")
		return nil
	}
	var rows [][]string
	for _, p := range all {
		room := 0
		if by, known := path.Named(p.Path); known && p.PathMTU > 0 {
			room = p.PathMTU - by.Overhead(heddle.FamilyOf(p.Underlay))
		}
		rows = append(rows, []string{p.Name, p.Path, s.pathState(w, p), formatBytes(p.PathMTU), formatBytes(room), formatRoundTrip(p), p.Checksums})
	}
	return writeTable(w, s.width(), []string{"peer", "path", "state", "path MTU", "containers", "round trip", "checksums"}, rows)
}
