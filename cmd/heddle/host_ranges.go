package main

import (
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

func newHostRanges(s *session) *cobra.Command {
	file, reset, dryRun := "", false, false
	cmd := &cobra.Command{
		Use: "ranges [PREFIX...]", Args: cobra.ArbitraryArgs,
		Short: "Show or change in which addresses the cluster's networks lie",
		Long: `ranges shows the address ranges in which the networks that hosts share must lie,
or gives the cluster others. A host makes no network outside them, and takes none on
that another host has written. The default ranges are private addresses (RFC 1918)
and unique local ones (RFC 4193). Networks that are there have to lie in new ranges.`,
		Example: "  heddle host ranges\n  heddle host ranges 10.0.0.0/8 fc00::/7 100.64.0.0/10\n  heddle host ranges --default",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if reset && len(args) > 0 {
				return heddle.Errorf(heddle.BadArgument, "read flag", "--default", "ranges are given as well", "give one of the two")
			}
			q := client.Ranges{DryRun: dryRun}
			for _, a := range args {
				p, err := netip.ParsePrefix(a)
				if err != nil {
					return heddle.Errorf(heddle.BadSubnet, "read address range", heddle.Clip(a), "it is not a prefix",
						"give it in CIDR form, such as 10.0.0.0/8")
				}
				q.Ranges = append(q.Ranges, p)
			}
			var r client.Ranges
			if !reset && len(args) == 0 {
				r, err = s.client().Ranges(cmd.Context())
			} else if q.Credential, err = credential(file); err == nil {
				r, err = s.client().SetRanges(cmd.Context(), q)
			}
			if err != nil {
				return err
			}
			if dryRun {
				return s.emitCommands(r.Commands)
			}
			return s.emit("Ranges", r, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, strings.ReplaceAll(joinList(r.Ranges), ",", "\n"))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&reset, "default", false, "go back to the default ranges")
	credentialFlag(cmd, &file)
	dryRunFlag(cmd, &dryRun)
	return cmd
}
