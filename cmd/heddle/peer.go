package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

func newPeer(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "peer", Short: "Peers: the other hosts, as this one reaches them", GroupID: groupNetworks},
		newPeerList(s), newPeerShow(s))
}

func newPeerList(s *session) *cobra.Command {
	quiet := false
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short: "List the other hosts of the cluster",
		Long: `list shows the other hosts of the cluster: the address at which their tunnels
end, whether it answers (up, silent; unknown as long as it was not asked), how many
address blocks they have, and whether their agents are connected to the store (alive,
away; unknown while the store does not answer).`,
		Example: "  heddle peer list\n  heddle peer list -q\n  heddle peer list -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.client().Peers(cmd.Context())
			if err != nil {
				return err
			}
			if quiet {
				return emitIDs(s, all, func(p heddle.PeerStatus) string { return p.Name })
			}
			return s.emit("PeerList", listOf(all), func(w io.Writer) error { return s.peerTable(w, all) })
		},
	}
	s.quietFlag(cmd, &quiet)
	return cmd
}

func (s *session) peerTable(w io.Writer, all []heddle.PeerStatus) error {
	if len(all) == 0 {
		s.note("no other hosts")
		return nil
	}
	var rows [][]string
	for _, p := range all {
		rows = append(rows, []string{p.Name, formatUnderlay(p), s.pathState(w, p), fmt.Sprint(p.Blocks), s.inStore(w, p)})
	}
	return writeTable(w, s.width(), []string{"name", "underlay", "state", "blocks", "store"}, rows)
}

func newPeerShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Args: withArgs("NAME"), ValidArgsFunction: s.completeFrom(s.peerNames),
		Short:   "Show another host and the path to it",
		Example: "  heddle peer show host2\n  heddle peer show host2 -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := s.client().Peers(cmd.Context())
			if err != nil {
				return err
			}
			i := slices.IndexFunc(all, func(p heddle.PeerStatus) bool { return p.Name == args[0] })
			if i < 0 {
				return heddle.Errorf(heddle.NoHost, "show peer", args[0], "no other host of the cluster has this name",
					"choose one from 'heddle peer list'")
			}
			return s.emit("Peer", all[i], func(w io.Writer) error { return s.peerFields(w, all[i]) })
		},
	}
}

func (s *session) peerFields(w io.Writer, p heddle.PeerStatus) error {
	return fieldTable(w, s.width(), [2]string{"name", p.Name}, [2]string{"id", p.ID}, [2]string{"underlay", formatUnderlay(p)}, [2]string{"path", p.Path},
		[2]string{"state", s.pathState(w, p)}, [2]string{"since", formatTime(p.Since)}, [2]string{"path MTU", formatBytes(p.PathMTU)},
		[2]string{"round trip", formatRoundTrip(p)}, [2]string{"checksums", p.Checksums}, [2]string{"blocks", fmt.Sprint(p.Blocks)}, [2]string{"store", s.inStore(w, p)})
}

func formatUnderlay(p heddle.PeerStatus) string {
	if !p.Underlay.IsValid() {
		return ""
	}
	return p.Underlay.String()
}

func (s *session) pathState(w io.Writer, p heddle.PeerStatus) string {
	return s.colour(w, map[string]string{"up": green, "silent": red}[p.State], p.State)
}

func (s *session) inStore(w io.Writer, p heddle.PeerStatus) string {
	return s.colour(w, map[string]string{"alive": green, "away": red}[p.Store], p.Store)
}

func formatRoundTrip(p heddle.PeerStatus) string {
	if p.RTTSeconds == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f ms", p.RTTSeconds*float64(time.Second/time.Millisecond))
}

func (s *session) peerNames() (names []string) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	all, _ := s.client().Peers(ctx)
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}
