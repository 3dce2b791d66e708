package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/vpc"
)

func newVPC(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "vpc", Short: "VPCs of this hypervisor, whose networks have addresses of their own", GroupID: groupNetworks,
		Long: `A VPC is a network namespace of this host with an agent of its own. Networks of
different VPCs may have the same addresses, and reach nothing of each other. Within a VPC
networks are isolated until 'heddle network allow' joins two.

  systemctl enable --now heddled-vpc@red     # makes VPC red; or heddled --vpc red
  heddle --vpc red network create lan --mode bridge --subnet 10.0.0.0/24

Each command with --vpc NAME asks the agent of that VPC. Virtual machines have NICs of it by
'heddle nic serve', on the network red/lan.`},
		newVPCList(s), newVPCShow(s), newVPCPeer(s), newVPCUnpeer(s), newVPCRoute(s), newVPCDelete(s))
}

// vpcStatus is a VPC, as far as its agent answers.
type vpcStatus struct {
	Name     string           `json:"name"`
	Answers  bool             `json:"answers"`
	Netns    string           `json:"netns"`
	Socket   string           `json:"socket"`
	Networks []heddle.Network `json:"networks"`
	// Peers are the VPCs whose networks it has as its own.
	Peers []string `json:"peers"`
}

func (s *session) vpcs(ctx context.Context) ([]vpcStatus, error) {
	names, err := vpc.List()
	all := []vpcStatus{}
	for _, name := range names {
		v := vpcStatus{Name: name, Netns: vpc.Netns(name), Socket: vpc.Socket(name), Networks: []heddle.Network{}, Peers: []string{}}
		found, err := vpcAgent(name).Networks(ctx)
		if heddle.NoPermission.In(err) != nil { // whether it answers is not known
			return nil, err
		}
		if err == nil {
			v.Answers = true
			for _, n := range found {
				switch peer := vpc.PeerOf(n); {
				case peer != "":
					v.Peers = append(v.Peers, peer)
				case n.Mode != heddle.ModeGateway:
					v.Networks = append(v.Networks, n)
				}
			}
		}
		all = append(all, v)
	}
	return all, err
}

func newVPCList(s *session) *cobra.Command {
	quiet := false
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short: "List the VPCs of this hypervisor",
		Long: `list shows the VPCs of this host: whether the agent of each answers (up, down), and its
networks. One that is down keeps its networks and their traffic.`,
		Example: "  heddle vpc list\n  heddle vpc list -q\n  heddle vpc list -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.vpcs(cmd.Context())
			if err != nil {
				return err
			}
			if quiet {
				return emitIDs(s, all, func(v vpcStatus) string { return v.Name })
			}
			return s.emit("VPCList", listOf(all), func(w io.Writer) error { return s.vpcTable(w, all) })
		},
	}
	s.quietFlag(cmd, &quiet)
	return cmd
}

func (s *session) vpcTable(w io.Writer, all []vpcStatus) error {
	if len(all) == 0 {
		s.note("no VPCs")
		return nil
	}
	var rows [][]string
	for _, v := range all {
		state := s.colour(w, red, "down")
		if v.Answers {
			state = s.colour(w, green, "up")
		}
		var networks []string
		for _, n := range v.Networks {
			networks = append(networks, strings.TrimSpace(fmt.Sprint(n.Name, " ", joinList(n.Subnets))))
		}
		rows = append(rows, []string{s.brief(v.Name), state, strings.Join(networks, ", "), strings.Join(s.peersOf(v, all), ", ")})
	}
	return writeTable(w, s.width(), []string{"name", "agent", "networks", "peers"}, rows)
}

// peersOf names the VPC's peers. A peering that the other VPC does not have passes nothing.
func (s *session) peersOf(v vpcStatus, all []vpcStatus) (names []string) {
	for _, peer := range v.Peers {
		mutual := slices.ContainsFunc(all, func(o vpcStatus) bool { return o.Name == peer && slices.Contains(o.Peers, v.Name) })
		if name := s.brief(peer); mutual {
			names = append(names, name)
		} else {
			names = append(names, name+" (not from there)")
		}
	}
	return names
}

func newVPCDelete(s *session) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use: "delete VPC", Aliases: []string{"rm"}, Args: withArgs("VPC"), ValidArgsFunction: s.completeFrom(s.vpcNames),
		Short: "Delete a VPC that has no networks",
		Long: `delete removes a VPC: its network namespace, and the records of its agent. Its networks are
deleted before, and then its agent is stopped. A VPC that is not there is no error.`,
		Example: "  heddle vpc delete red",
		RunE: func(cmd *cobra.Command, args []string) error {
			if dryRun {
				commands, err := vpc.DeleteCommands(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if n, err := vpc.Outside(cmd.Context(), s.client(), args[0]); err == nil && n.ID != "" {
					commands = append(commands, heddle.CommandLine([]string{"heddle", "network", "delete", n.Name}))
				}
				return s.emitCommands(commands)
			}
			existed, err := vpc.Delete(cmd.Context(), args[0])
			if err == nil {
				err = vpc.CloseOutside(cmd.Context(), s.client(), args[0])
			}
			if err != nil {
				return err
			}
			told := "VPC %s deleted"
			if !existed {
				told = "there is no VPC %s"
			}
			return s.emitDone("VPCDeletion", map[string]any{"name": args[0], "existed": existed}, told, args[0])
		},
	}
	dryRunFlag(cmd, &dryRun)
	return cmd
}

// vpcNames are those that are there, for completion.
func (s *session) vpcNames() []string {
	names, _ := vpc.List()
	return names
}
