package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/vpc"
	"github.com/heddle-network/heddle/vpcroute"
)

// vpcShown is a VPC with its routes.
type vpcShown struct {
	vpcStatus
	Routes []vpcroute.Shown `json:"routes"`
	// Out is its way out by the host.
	Out *vpcOut `json:"out,omitempty"`
}

func newVPCShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show VPC", Args: withArgs("VPC"), ValidArgsFunction: s.completeFrom(s.vpcNames),
		Short: "Show a VPC: its networks, peers, routes and way out",
		Long: `show prints what a VPC has. A peer that has not peered back is told. Routes are its static
ones, with what has become of each; the subnets of its networks and peers need none. Of the
way out by the host it says what is wrong, also with the host: that it does not forward, or
has another firewall that drops.`,
		Example: "  heddle vpc show red\n  heddle vpc show red -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := s.vpcs(cmd.Context())
			if err != nil {
				return err
			}
			i := slices.IndexFunc(all, func(v vpcStatus) bool { return v.Name == args[0] })
			if i < 0 {
				if err := heddle.CheckVPCName(args[0]); err != nil {
					return err
				}
				return heddle.Errorf(heddle.BadArgument, "show VPC", args[0], "there is none of that name", "'heddle vpc list' shows those there are")
			}
			v := vpcShown{all[i], []vpcroute.Shown{}, s.wayOut(cmd.Context(), all[i])}
			if v.Answers {
				if v.Routes, err = vpcRoutes(cmd.Context(), v.Name); err != nil {
					return err
				}
			}
			return s.emit("VPC", v, func(w io.Writer) error { return s.vpcFields(w, v, all) })
		},
	}
}

func (s *session) vpcFields(w io.Writer, v vpcShown, all []vpcStatus) error {
	var networks, routes []string
	for _, n := range v.Networks {
		networks = append(networks, strings.TrimSpace(n.Name+" "+joinList(n.Subnets)))
	}
	for _, r := range v.Routes {
		routes = append(routes, r.Destination.String()+" "+r.Goal()+" "+routeState(r))
	}
	state := "down"
	if v.Answers {
		state = "up"
	}
	return fieldTable(w, s.width(), [2]string{"name", v.Name}, [2]string{"agent", state}, [2]string{"networks", strings.Join(networks, cellLineBreak)},
		[2]string{"peers", strings.Join(s.peersOf(v.vpcStatus, all), ", ")}, [2]string{"routes", strings.Join(routes, cellLineBreak)},
		[2]string{"way out", v.Out.lines()},
		[2]string{"namespace", v.Netns}, [2]string{"socket", v.Socket})
}

// routeState is what has become of a route, with the cause.
func routeState(r vpcroute.Shown) string {
	if r.Cause == "" {
		return r.State
	}
	return r.State + " (" + r.Cause + ")"
}

// vpcRoutes are those of a VPC.
func vpcRoutes(ctx context.Context, name string) ([]vpcroute.Shown, error) {
	if err := heddle.CheckVPCName(name); err != nil {
		return nil, err
	}
	all, err := vpcAgent(name).VPCRoutes(ctx)
	if err != nil {
		err = vpc.Away(name, err, "")
	}
	return all, err
}
