package main

import (
	"context"
	"io"
	"net/netip"
	"slices"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/vpc"
	"github.com/heddle-network/heddle/vpcroute"
)

func newVPCRoute(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "route", Short: "Static routes of a VPC",
		Long: `A static route leads packets to a prefix that no network of the VPC has: to the port of a
next hop, which is an endpoint of the VPC (a router, a firewall, a VPN), or by the host, or
nowhere. The longest prefix wins. Who uses it are the networks that may talk with the next
hop's.

The next hop may send what comes from that prefix. Nobody else may, and the VPC's own
addresses stay their owners'. When the endpoint goes, or is detached, the route is a
blackhole until that endpoint is back with that address: whoever gets the address
otherwise does not become the next hop.`},
		newVPCRouteAdd(s), newVPCRouteList(s), newVPCRouteDelete(s))
}

func newVPCRouteAdd(s *session) *cobra.Command {
	dryRun, goal := false, ""
	cmd := &cobra.Command{
		Use: "add VPC DESTINATION --next-hop ADDRESS|host|blackhole", Args: withArgs("VPC", "DESTINATION"), ValidArgsFunction: s.completeFrom(s.vpcNames, noWords),
		Short: "Add a static route to a VPC",
		Long: `add has packets to DESTINATION, a prefix such as 192.168.50.0/24 or ::/0, go to the endpoint
that has ADDRESS now, or to the host, or be dropped. The endpoint forwards them itself. Added
again with the same next hop, a route is left as it is.

By the host, the VPC's networks reach what the host reaches, hidden behind its addresses;
nobody begins anything from there. The first such route makes the VPC's way out: a link with
a subnet that nobody on the host has, and at both of its ends a network of mode gateway,
vpc-VPC on the host and host in the VPC. With the last one it goes. Networks that are
internal have it if they are allowed ('heddle --vpc VPC network allow NETWORK host').`,
		Example: `  heddle vpc route add red 192.168.50.0/24 --next-hop 10.0.0.5
  heddle vpc route add red ::/0 --next-hop fd00::5 --dry-run
  heddle vpc route add red 0.0.0.0/0 --next-hop host
  heddle vpc route add red 192.168.50.128/25 --next-hop blackhole`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r := vpcroute.Route{}
			var err error
			if r.Destination, err = routeDestination(args); err != nil {
				return err
			}
			if r.NextHop, r.Host, err = nextHop(goal); err != nil {
				return err
			}
			of, err := s.agents("add route to VPC", args[0])
			if err != nil {
				return err
			}
			if dryRun {
				lines, err := vpc.AddRouteCommands(cmd.Context(), of, args[0], r)
				if err != nil {
					return err
				}
				return s.emitCommands(lines)
			}
			added, err := vpc.AddRoute(cmd.Context(), of, args[0], r)
			if err != nil {
				return err
			}
			return s.emit("VPCRoute", added, func(w io.Writer) error { return s.routeTable(w, []vpcroute.Shown{added}) })
		},
	}
	cmd.Flags().StringVar(&goal, "next-hop", "", "an endpoint's `ADDRESS`, or host, or blackhole")
	cmd.RegisterFlagCompletionFunc("next-hop", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return nextHops(args), cobra.ShellCompDirectiveNoFileComp
	})
	dryRunFlag(cmd, &dryRun)
	return cmd
}

func newVPCRouteList(s *session) *cobra.Command {
	quiet := false
	cmd := &cobra.Command{
		Use: "list VPC", Aliases: []string{"ls"}, Args: withArgs("VPC"), ValidArgsFunction: s.completeFrom(s.vpcNames, noWords),
		Short: "List the static routes of a VPC",
		Long: `list shows where each route leads, and its state: active, blackhole (its packets are dropped;
if its next hop is gone, that is told), or shadowed (a network has these addresses).`,
		Example: "  heddle vpc route list red\n  heddle vpc route list red -q\n  heddle vpc route list red -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := vpcRoutes(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if quiet {
				return emitIDs(s, all, func(r vpcroute.Shown) string { return r.Destination.String() })
			}
			return s.emit("VPCRouteList", listOf(all), func(w io.Writer) error { return s.routeTable(w, all) })
		},
	}
	s.quietFlag(cmd, &quiet)
	return cmd
}

func newVPCRouteDelete(s *session) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use: "delete VPC DESTINATION", Aliases: []string{"rm"}, Args: withArgs("VPC", "DESTINATION"),
		Short: "Delete a static route of a VPC",
		Long: `delete removes the route to DESTINATION, and with the last one to the host the VPC's way out.
One that is not there is no error.`,
		Example: "  heddle vpc route delete red 192.168.50.0/24 --dry-run\n  heddle vpc route delete red 192.168.50.0/24",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				words = s.vpcNames()
			case 1:
				words = destinations(args[0])
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			destination, err := routeDestination(args)
			if err != nil {
				return err
			}
			of, err := s.agents("delete route of VPC", args[0])
			if err != nil {
				return err
			}
			if dryRun {
				lines, err := vpc.DeleteRouteCommands(cmd.Context(), of, args[0], destination)
				if err != nil {
					return err
				}
				return s.emitCommands(lines)
			}
			existed, err := vpc.DeleteRoute(cmd.Context(), of, args[0], destination)
			if err != nil {
				return err
			}
			told := "route to %s of VPC %s deleted"
			if !existed {
				told = "there is no route to %s of VPC %s"
			}
			return s.emitDone("VPCRouteDeletion", map[string]any{"vpc": args[0], "destination": destination, "existed": existed}, told, destination, args[0])
		},
	}
	dryRunFlag(cmd, &dryRun)
	return cmd
}

func (s *session) routeTable(w io.Writer, all []vpcroute.Shown) error {
	if len(all) == 0 {
		s.note("no static routes")
		return nil
	}
	return writeColumns(w, s.width(), []tableColumn[vpcroute.Shown]{
		{"destination", func(r vpcroute.Shown) string { return r.Destination.String() }},
		{"next hop", func(r vpcroute.Shown) string { return r.Goal() }},
		{"endpoint", func(r vpcroute.Shown) string {
			if !r.NextHop.IsValid() {
				return ""
			}
			return s.briefID(r.Endpoint)
		}},
		{"state", routeState},
	}, all)
}

// routeDestination reads the arguments of a command about a route: the VPC's name, and a prefix.
func routeDestination(args []string) (netip.Prefix, error) {
	if err := heddle.CheckVPCName(args[0]); err != nil {
		return netip.Prefix{}, err
	}
	p, err := netip.ParsePrefix(args[1])
	if err != nil {
		return p, heddle.Errorf(heddle.BadSubnet, "read route", heddle.Clip(args[1]), "it is no prefix", "give one such as 192.168.50.0/24 or ::/0")
	}
	return p, nil
}

// nextHop reads --next-hop; of the host, and of a blackhole, the address is not valid.
func nextHop(goal string) (a netip.Addr, host bool, err error) {
	switch goal {
	case "":
		return a, false, heddle.Errorf(heddle.BadArgument, "add route", "--next-hop", "it is missing", "name the address of an endpoint of the VPC, host, or blackhole")
	case vpcroute.Host:
		return a, true, nil
	case vpcroute.Blackhole:
		return a, false, nil
	}
	if a, err = netip.ParseAddr(goal); err != nil || a.Zone() != "" || a.Is4In6() {
		return a, false, heddle.Errorf(heddle.BadAddress, "read flag", "--next-hop", heddle.Clip(goal)+" is no IP address", "give an endpoint's, such as 10.0.0.5, or host, or blackhole")
	}
	return a, false, nil
}

// destinations are those of the routes of a VPC, for completion.
func destinations(name string) (words []string) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	all, _ := vpcRoutes(ctx, name)
	for _, r := range all {
		words = append(words, r.Destination.String())
	}
	return words
}

// nextHops are addresses of endpoints of a VPC, for completion.
func nextHops(args []string) []string {
	words := []string{vpcroute.Blackhole, vpcroute.Host}
	if len(args) == 0 || heddle.CheckVPCName(args[0]) != nil {
		return words
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	all, _ := vpcAgent(args[0]).Endpoints(ctx)
	for _, e := range all {
		for _, a := range e.Addrs {
			words = append(words, cobra.CompletionWithDesc(a.Addr().String(), e.ID.Short()+" "+e.NetworkName))
		}
	}
	slices.Sort(words)
	return words
}
