package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// wordsElsewhere are commands of Docker, Weave and Swarm, each with what does the same here.
var wordsElsewhere = map[string]string{
	"ps": "endpoint list", "ls": "network list", "list": "network list", "networks": "network list", "endpoints": "endpoint list",
	"inspect": "endpoint show", "show": "endpoint show", "create": "network create", "rm": "network delete", "delete": "network delete",
	"connect": "attach", "run": "attach", "add": "attach", "disconnect": "detach", "remove": "detach", "del": "detach",
	"info": "status", "health": "status", "logs": "events", "prune": "gc", "expose": "attach", "port": "endpoint list",
	"node": "host list", "nodes": "host list", "hosts": "host list", "swarm": "host list", "join": "host token",
	"dns": "name list", "names": "name list", "peers": "peer list",
}

func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	remedy := seeHelp(cmd)
	cmd.SuggestionsMinimumDistance = min(2, max(1, len(args[0])/3)) // two letters of "ps" are any word of two
	if known := wordsElsewhere[args[0]]; known != "" && !cmd.HasParent() {
		remedy = "try 'heddle " + known + "'"
	} else if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		remedy = fmt.Sprintf("try '%s %s'", cmd.CommandPath(), strings.Join(similar, "' or '"+cmd.CommandPath()+" "))
	}
	return heddle.Errorf(heddle.BadArgument, "run command", fmt.Sprintf("%q", cmd.CommandPath()+" "+args[0]),
		"there is no such command", remedy)
}

// withArgs checks the number of arguments against their names in the usage line. A name in
// brackets, such as "[ID]", may be left out; one with dots, such as "FILE...", may be several.
func withArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		for _, name := range names[min(len(args), len(names)):] {
			if !strings.HasPrefix(name, "[") {
				return badCommand(cmd, "argument "+name+" is missing")
			}
		}
		more := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "...")
		if len(args) > len(names) && !more {
			return badCommand(cmd, fmt.Sprintf("argument %q is one too many", args[len(names)]))
		}
		return nil
	}
}

// oneOf requires one argument, which is one of the words.
func oneOf(name string, words []string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := withArgs(name)(cmd, args); err != nil {
			return err
		}
		if !slices.Contains(words, args[0]) {
			return heddle.Errorf(heddle.BadArgument, "run command", cmd.CommandPath(), fmt.Sprintf("%q is none of its words", args[0]),
				"give one of "+heddle.List(words))
		}
		return nil
	}
}

// usageError converts an error of cobra.
func usageError(cmd *cobra.Command, err error) error {
	if heddle.KindOf(err) == heddle.Usage {
		return err
	}
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		return heddle.Errorf(heddle.BadArgument, "read flag", "--"+value.GetFlag().Name,
			fmt.Sprintf("%q is not %s", heddle.Clip(value.GetValue()), valueWords(value.GetFlag().Value.Type())), seeHelp(cmd))
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return heddle.Errorf(heddle.BadArgument, "run command", cmd.CommandPath(), err.Error(), knownFlags(cmd)+seeHelp(cmd))
	}
	return badCommand(cmd, err.Error())
}

// valueWords says what a flag of that type takes.
func valueWords(flagType string) string {
	switch flagType {
	case "duration":
		return "a duration such as 30s, 5m or 1h"
	case "bool":
		return "true or false"
	case "int", "uint64", "uint16":
		return "a whole number that fits"
	case "intSlice":
		return "whole numbers joined by commas"
	}
	return "a value that it takes"
}

// knownFlags lists the flags of a command that has few, for somebody who has mistyped one.
func knownFlags(cmd *cobra.Command) string {
	const most = 8
	var all []string
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			all = append(all, "--"+f.Name)
		}
	})
	if len(all) == 0 || len(all) > most {
		return ""
	}
	return "it has " + strings.Join(all, ", ") + "; "
}

// badCommand is the error for a command with wrong arguments.
func badCommand(cmd *cobra.Command, cause string) error {
	return heddle.Errorf(heddle.BadArgument, "run command", cmd.CommandPath(), cause, seeHelp(cmd))
}

func seeHelp(cmd *cobra.Command) string { return "see '" + cmd.CommandPath() + " --help'" }
