package main

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

func newNetwork(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "network", Short: "Networks: named address spaces with a mode", GroupID: groupNetworks},
		newNetworkCreate(s), newNetworkList(s), newNetworkShow(s), newNetworkAllow(s), newNetworkDisallow(s), newNetworkDelete(s))
}

func newNetworkShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Args: withArgs("NAME"), ValidArgsFunction: s.completeFrom(s.networkNames),
		Short:   "Show a network's settings",
		Example: "  heddle network show front",
		RunE: func(cmd *cobra.Command, args []string) error {
			var n heddle.Network
			err := s.onNetwork(cmd.Context(), args[0], toShow, func(name string) (err error) {
				n, err = s.client().Network(cmd.Context(), name)
				return err
			})
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
	var subnets []string
	for _, p := range n.Subnets {
		gateway := "no gateway"
		if g, ok := n.GatewayFor(p.Addr()); ok {
			gateway = "gateway " + g.String()
		}
		subnets = append(subnets, p.String()+", "+gateway)
	}
	return fieldTable(w, s.width(), [2]string{"name", n.Name}, [2]string{"id", n.ID}, [2]string{"mode", n.Mode},
		[2]string{"subnets", strings.Join(subnets, cellLineBreak)}, [2]string{"ranges", joinList(n.Ranges)}, [2]string{"reserved", joinList(n.Reserved)},
		[2]string{"parent", n.Parent}, [2]string{"MTU", formatBytes(n.MTU)}, [2]string{"reach", formatReach(n)},
		[2]string{"options", formatOptions(n)}, [2]string{"labels", heddle.LabelText(n.Labels)}, [2]string{"allowed", strings.Join(allowedNetworks(n, all), ", ")},
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

func joinList[T netip.Addr | netip.Prefix](all []T) string {
	var out []string
	for _, a := range all {
		out = append(out, fmt.Sprint(a))
	}
	return strings.Join(out, ",")
}

// formatOptions lists the mode's settings, by key.
func formatOptions(n heddle.Network) string { return heddle.LabelText(n.Options) }

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
