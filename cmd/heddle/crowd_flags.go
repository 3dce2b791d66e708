package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/engine"
	"github.com/heddle-network/heddle/crowd/rig"
)

// check refuses flags that do not go together.
func (f runFlags) check(cmd *cobra.Command) error {
	switch {
	case f.rounds < 1 || f.rounds > 1000:
		return heddle.Errorf(heddle.BadArgument, "read flag", "--rounds", fmt.Sprintf("%d is none of 1 to 1000", f.rounds), "give 1 or more")
	case f.diary != "" && f.diary == f.out:
		return heddle.Errorf(heddle.BadArgument, "read flag", "--diary", "it is the file of --out", "name two files")
	case f.capture != "" && f.diary == "":
		return heddle.Errorf(heddle.BadArgument, "read flag", "--capture", "there is no --diary, which says whose each packet is", "name one with --diary, or leave --capture out")
	case f.capture != "" && (f.capture == f.out || f.capture == f.diary):
		return heddle.Errorf(heddle.BadArgument, "read flag", "--capture", "it is another output's file", "name a file of its own")
	case cmd.Flags().Changed("snaplen") && f.capture == "":
		return heddle.Errorf(heddle.BadArgument, "read flag", "--snaplen", "there is no --capture", "name a file with --capture, or leave --snaplen out")
	case cmd.Flags().Changed("snaplen") && f.most < minSnap:
		return heddle.Errorf(heddle.BadArgument, "read flag", "--snaplen", fmt.Sprintf("no flow could be told from %d bytes", f.most), fmt.Sprintf("give %d or more, or leave it out for all", minSnap))
	case f.resume && f.out == "":
		return heddle.Errorf(heddle.BadArgument, "read flag", "--resume", "there is no --out", "name the earlier report with --out")
	case !slices.Contains(engine.Words(), f.as):
		return heddle.Errorf(heddle.BadArgument, "read flag", "--as", fmt.Sprintf("%q is none of what users may be", heddle.Clip(f.as)), "choose from "+heddle.List(engine.Words()))
	case f.network == "" && f.as != engine.Namespace:
		return heddle.Errorf(heddle.BadArgument, "read flag", "--as", "there is no --network, and no "+f.as+" knows the networks of a lab", "name a network of this host that "+f.as+" knows with --network")
	case f.hosts < 1 || f.hosts > rig.MaxHosts:
		return heddle.Errorf(heddle.BadArgument, "read flag", "--hosts", fmt.Sprintf("%d is none of 1 to %d", f.hosts, rig.MaxHosts), "give a number in that range")
	case f.network != "" && cmd.Flags().Changed("hosts"):
		return heddle.Errorf(heddle.BadArgument, "read flag", "--hosts", "network "+f.network+" is played on from this host", "give --hosts or --network")
	case f.network != "" && cmd.Flags().Changed("modes"):
		return heddle.Errorf(heddle.BadArgument, "read flag", "--modes", "network "+f.network+" has its mode", "give --modes or --network")
	}
	return nil
}
