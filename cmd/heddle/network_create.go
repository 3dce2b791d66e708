package main

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// networkFlags are the flags of network create as given, before they are parsed.
type networkFlags struct {
	mode, parent                        string
	subnets, gateways, ranges, reserved []string
	options, labels                     []string
	mtu                                 int
	internal, dryRun                    bool
}

func newNetworkCreate(s *session) *cobra.Command {
	var flags networkFlags
	cmd := &cobra.Command{
		Use: "create NAME --mode MODE", Args: withArgs("NAME"), ValidArgsFunction: cobra.NoFileCompletions,
		Short: "Create a network",
		Long: `create records a network and makes what its endpoints will share. Created again
with the same settings, it is left as it is. One that the hosts of a cluster share
(mode overlay) is created, changed and deleted on a host that keeps the store, or
that an operator let ('heddle host grant NAME networks'); with an etcd of your own,
wherever its rights allow it.

Modes:
` + modeHelp(),
		Example: `  heddle network create web --mode bridge
  heddle network create front --mode bridge --subnet 10.20.0.0/24 --subnet fd20::/64
  heddle network create back --mode routed --subnet 10.21.0.0/24 --ip-range 10.21.0.128/25 --mtu 1400
  heddle network create closed --mode bridge --subnet 10.22.0.0/24 --gateway 10.22.0.254 --internal --label tier=web
  heddle network create plain --mode host
  heddle network create next --mode bridge --subnet 10.23.0.0/24 --reserve 10.23.0.9 --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := flags.network(args[0])
			if err != nil {
				return err
			}
			made, commands, err := s.client().CreateNetwork(cmd.Context(), n, flags.dryRun)
			switch {
			case err != nil:
				return err
			case flags.dryRun:
				return s.emitCommands(commands)
			}
			for _, limit := range made.Limits {
				if !slices.Contains(firewall.Limits(made, true), limit) { // the mode's own; 'network show' lists all
					s.note("note: %s", limit)
				}
			}
			return s.emit("Network", made, func(w io.Writer) error { return s.networkTable(w, []heddle.Network{made}) })
		},
	}
	flags.define(s, cmd)
	return cmd
}

func (x *networkFlags) define(s *session, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&x.mode, "mode", "", "how endpoints are wired: "+modeWords())
	f.StringArrayVar(&x.subnets, "subnet", nil, "`CIDR` of the addresses; once for IPv4 and once for IPv6 (bridge, routed, overlay: by default, or with auto, a free one)")
	f.StringArrayVar(&x.gateways, "gateway", nil, "the gateway's `IP`; by default the subnet's first address (macvlan, ipvlan, direct: the LAN's router)")
	f.StringArrayVar(&x.ranges, "ip-range", nil, "`CIDR` in a subnet, to give addresses out from")
	f.StringArrayVar(&x.reserved, "reserve", nil, "`IP` to give out only on request")
	f.StringVar(&x.parent, "parent", "", "`interface` of the host to stand on; by default that of the default route (direct: the NIC to give, no default; not for host and overlay)")
	f.IntVar(&x.mtu, "mtu", 0, "largest packet in `bytes`; by default the parent's (overlay: the underlay's less the tunnel's headers; not for host, and not for direct: a NIC keeps its own)")
	f.BoolVar(&x.internal, "internal", false, "no way out, and no published ports (bridge, routed, overlay)")
	f.StringArrayVar(&x.options, "opt", nil, "`K=V`, a setting of the mode")
	f.StringArrayVar(&x.labels, "label", nil, "`K=V`, a word of your own by which lists and events are filtered")
	dryRunFlag(cmd, &x.dryRun)
	cmd.RegisterFlagCompletionFunc("mode", s.completeFrom(s.modes))
	cmd.RegisterFlagCompletionFunc("opt", completeOptions)
	cmd.RegisterFlagCompletionFunc("parent", s.completeFrom(s.interfaces))
}

// network parses the flags.
func (x *networkFlags) network(name string) (n heddle.Network, err error) {
	n = heddle.Network{Name: name, Mode: x.mode, Parent: x.parent, MTU: x.mtu, Internal: x.internal}
	if err := heddle.CheckNetworkName(name); err != nil {
		return n, err
	}
	if x.mode == "" {
		return n, heddle.Errorf(heddle.BadArgument, "create network", name, "flag --mode is missing", "give --mode "+modeWords())
	}
	if x.parent != "" {
		if err := heddle.CheckIfName(x.parent); err != nil {
			return n, err
		}
	}
	if x.mtu != 0 && (x.mtu < 576 || x.mtu > 65535) {
		return n, heddle.Errorf(heddle.BadMTU, "create network", name,
			fmt.Sprintf("its MTU of %d is not from 576 to 65535", x.mtu), "leave --mtu out to take the parent's MTU")
	}
	if !slices.Equal(x.subnets, []string{"auto"}) {
		if n.Subnets, err = parsePrefixes("--subnet", x.subnets); err != nil {
			return n, err
		}
	}
	if n.Ranges, err = parsePrefixes("--ip-range", x.ranges); err != nil {
		return n, err
	}
	if n.Gateways, err = parseAddrs("--gateway", x.gateways); err != nil {
		return n, err
	}
	if n.Reserved, err = parseAddrs("--reserve", x.reserved); err != nil {
		return n, err
	}
	if n.Labels, err = heddle.ParseLabels(x.labels); err != nil {
		return n, err
	}
	n.Options, err = parseOptions(x.options)
	return n, err
}

func parsePrefixes(flag string, words []string) (all []netip.Prefix, err error) {
	for _, w := range words {
		p, err := netip.ParsePrefix(w)
		if err != nil {
			return nil, heddle.Errorf(heddle.BadSubnet, "read flag", flag, fmt.Sprintf("%q is not a prefix", w),
				"give it in CIDR form, such as 10.20.0.0/24 or fd20::/64")
		}
		all = append(all, p)
	}
	return all, nil
}

func parseAddrs(flag string, words []string) (all []netip.Addr, err error) {
	for _, w := range words {
		a, err := netip.ParseAddr(w)
		if err != nil || a.Zone() != "" {
			return nil, heddle.Errorf(heddle.BadAddress, "read flag", flag, fmt.Sprintf("%q is not an address", w),
				"give an IP address, such as 10.20.0.9 or fd20::9")
		}
		all = append(all, a.Unmap())
	}
	return all, nil
}

func parseOptions(words []string) (map[string]string, error) {
	var all map[string]string
	for _, w := range words {
		k, v, found := strings.Cut(w, "=")
		if _, twice := all[k]; !found || k == "" || twice {
			cause := fmt.Sprintf("%q is not of the form KEY=VALUE", w)
			if twice {
				cause = fmt.Sprintf("option %s is given twice", k)
			}
			return nil, heddle.Errorf(heddle.BadOption, "read flag", "--opt", cause, "give each option once, as KEY=VALUE")
		}
		if all == nil {
			all = map[string]string{}
		}
		all[k] = v
	}
	return all, nil
}
