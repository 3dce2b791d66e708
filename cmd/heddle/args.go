package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

// newGroup completes a command that only has subcommands: without arguments it shows its
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
		remedy = fmt.Sprintf("try '%s %s'", cmd.CommandPath(), strings.Join(similar, "' or '"+cmd.CommandPath()+" "))
	}
	return heddle.Errorf(heddle.BadArgument, "run command", fmt.Sprintf("%q", cmd.CommandPath()+" "+args[0]),
		"there is no such command", remedy)
}

// withArgs checks the number of arguments against their names in the usage line. A name in
// brackets, such as "[ID]", may be left out.
func withArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for _, name := range names[min(len(args), len(names)):] {
			if !strings.HasPrefix(name, "[") {
				return badCommand(cmd, "argument "+name+" is missing")
			}
		}
		if len(args) > len(names) {
			return badCommand(cmd, fmt.Sprintf("argument %q is one too many", args[len(names)]))
		}
		return nil
	}
}

// usageError converts an error of cobra.
func usageError(cmd *cobra.Command, err error) error {
	if heddle.KindOf(err) == heddle.Usage {
		return err
	}
	return badCommand(cmd, err.Error())
}

// badCommand is the error for a command with wrong arguments.
func badCommand(cmd *cobra.Command, cause string) error {
	return heddle.Errorf(heddle.BadArgument, "run command", cmd.CommandPath(), cause, seeHelp(cmd))
}

func seeHelp(cmd *cobra.Command) string { return "see '" + cmd.CommandPath() + " --help'" }
