package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lab"
)

func newLabExec(s *session) *cobra.Command {
	name := ""
	cmd := &cobra.Command{
		Use: "exec HOST -- COMMAND…", Args: requireHostAndCommand, ValidArgsFunction: s.completeLabHosts(&name),
		Short:   "Run a command in a host of a lab",
		Long:    "exec becomes a command in all namespaces of the host. Input, output, terminal,\nsignals and exit code are the command's.",
		Example: "  heddle lab exec host1 -- ping -c 1 host2\n  heddle lab exec --lab small host1 -- ip -brief address",
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := lab.Load(lab.DefaultDir, name)
			if err != nil {
				return err
			}
			h, err := l.Host(args[0])
			if err != nil {
				return err
			}
			c, err := h.Command(cmd.Context(), args[1:]...)
			if err != nil {
				return err
			}
			// the caller's socket is not the host's
			environ := slices.DeleteFunc(c.Environ(), func(v string) bool { return strings.HasPrefix(v, "HEDDLE_SOCKET=") })
			if err := s.exec(c.Path, c.Args, withOwnFolder(environ)); err != nil {
				return heddle.Wrap(heddle.LabFailed, "run command in", h.Name, err, "check that the command exists on the host")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "lab", defaultLab, "`name` of the lab")
	cmd.RegisterFlagCompletionFunc("lab", s.completeFrom(s.labNames))
	return cmd
}

// withOwnFolder lets a command find heddle where it was built and not installed: PATH ends with this
// program's folder.
func withOwnFolder(environ []string) []string {
	self, err := os.Executable()
	if err != nil {
		return environ
	}
	for i, v := range environ {
		if strings.HasPrefix(v, "PATH=") {
			environ[i] = v + ":" + filepath.Dir(self)
		}
	}
	return environ
}

// requireHostAndCommand requires "--" before the command, so that the command's flags are not
// parsed here.
func requireHostAndCommand(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
		return heddle.Errorf(heddle.BadArgument, "run command", cmd.CommandPath(), "a host, '--' and a command are needed",
			"try '"+cmd.CommandPath()+" host1 -- ip address'")
	}
	return nil
}

func (s *session) completeLabHosts(name *string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) (hosts []string, _ cobra.ShellCompDirective) {
		l, err := lab.Load(lab.DefaultDir, *name)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		for _, h := range slices.Concat(l.Hosts, l.Routers, l.Switches) {
			hosts = append(hosts, h.Name)
		}
		return hosts, cobra.ShellCompDirectiveNoFileComp
	}
}
