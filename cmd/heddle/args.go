package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

// newGroup completes a command that only holds others: without arguments it shows its
// help, and unknown words are errors.
func newGroup(cmd *cobra.Command, members ...*cobra.Command) *cobra.Command {
	cmd.DisableFlagsInUseLine = true
	cmd.Args = knownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(members...)
	return cmd
}

func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	remedy := seeHelp(cmd)
	cmd.SuggestionsMinimumDistance = 2
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		remedy = "did you mean " + strings.Join(similar, " or ") + "?"
	}
	return heddle.Errorf(heddle.BadArgument, "unknown command", fmt.Sprintf("%q", cmd.CommandPath()+" "+args[0]), "", remedy)
}

// takes checks the number of arguments, by the names that the usage line gives
// them; "[ID]" may be left out.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for _, name := range names[min(len(args), len(names)):] {
			if !strings.HasPrefix(name, "[") {
				return heddle.Errorf(heddle.BadArgument, name+" is missing", "", "", seeHelp(cmd))
			}
		}
		if len(args) > len(names) {
			return heddle.Errorf(heddle.BadArgument, "unexpected argument", fmt.Sprintf("%q", args[len(names)]), "", seeHelp(cmd))
		}
		return nil
	}
}

// usage makes an error of cobra one of ours.
func usage(cmd *cobra.Command, err error) error {
	if heddle.KindOf(err) == heddle.Usage {
		return err
	}
	return heddle.Errorf(heddle.BadArgument, err.Error(), "", "", seeHelp(cmd))
}

func seeHelp(cmd *cobra.Command) string { return "see '" + cmd.CommandPath() + " --help'" }
