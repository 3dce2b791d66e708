package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/vpc"
)

// vpcAgent is the agent of a VPC.
func vpcAgent(name string) *client.Client { return client.New(vpc.Socket(name)) }

// agents are those of VPCs and, as "", the host's, for a command about a VPC.
func (s *session) agents(op, name string) (vpc.Agents, error) {
	if s.vpc != "" {
		return nil, heddle.Errorf(heddle.BadArgument, op, name, "--vpc "+s.vpc+" names an agent, and the command asks that of "+name+" and the host's", "leave --vpc out")
	}
	return s.hostOrVPC, nil
}

// hostOrVPC is the agent of a VPC, or of the host for "".
func (s *session) hostOrVPC(name string) *client.Client {
	if name == "" {
		return s.client()
	}
	return vpcAgent(name)
}

// vpcPair is the output document of a peering.
type vpcPair struct {
	VPCs   [2]string `json:"vpcs"`
	Peered bool      `json:"peered"`
}

func newVPCPeer(s *session) *cobra.Command {
	return s.peeringCommand(&cobra.Command{
		Use:   "peer A B",
		Short: "Let the networks of two VPCs reach each other",
		Long: `peer joins two VPCs: a link between their namespaces, routes for exactly the subnets that
they have now, and permission for all of their networks. When there are others, repeat it. Each
VPC has the other's networks as one of its own, vpc-NAME, of mode peering; 'heddle --vpc A
network disallow vpc-B NETWORK' keeps a network out.

It is refused when the ranges in which their subnets lie overlap. A VPC reaches nothing of
another by a third one.`,
		Example: "  heddle vpc peer red blue --dry-run\n  heddle vpc peer red blue",
	}, "peered", func(ctx context.Context, a, b string) error { return vpc.Peer(ctx, vpcAgent, a, b) },
		func(ctx context.Context, a, b string) ([]string, error) { return vpc.PeerCommands(ctx, vpcAgent, a, b) })
}

func newVPCUnpeer(s *session) *cobra.Command {
	return s.peeringCommand(&cobra.Command{
		Use:   "unpeer A B",
		Short: "Keep two VPCs apart again",
		Long: `unpeer takes back what 'heddle vpc peer' made, in whichever order the two were named. VPCs that
are not peered are no error.`,
		Example: "  heddle vpc unpeer red blue --dry-run\n  heddle vpc unpeer red blue",
	}, "apart", func(ctx context.Context, a, b string) error {
		_, err := vpc.Unpeer(ctx, vpcAgent, a, b)
		return err
	}, func(ctx context.Context, a, b string) ([]string, error) {
		return vpc.UnpeerCommands(ctx, vpcAgent, a, b)
	})
}

// peeringCommand completes a command that changes whether two VPCs are peered.
func (s *session) peeringCommand(cmd *cobra.Command, outcome string, change func(ctx context.Context, a, b string) error,
	commands func(ctx context.Context, a, b string) ([]string, error)) *cobra.Command {
	dryRun := false
	cmd.Args, cmd.ValidArgsFunction = withArgs("A", "B"), s.completeFrom(s.vpcNames, s.vpcNames)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if dryRun {
			lines, err := commands(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return s.emitCommands(lines)
		}
		if err := change(cmd.Context(), args[0], args[1]); err != nil {
			return err
		}
		return s.emitDone("VPCPeering", vpcPair{[2]string{args[0], args[1]}, outcome == "peered"}, "VPCs %s and %s are %s", args[0], args[1], outcome)
	}
	dryRunFlag(cmd, &dryRun)
	return cmd
}
