package main

import (
	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/vpc"
)

// The groups in which the help lists the commands.
const (
	groupNetworks = "networks"
	groupHealth   = "health"
	groupLabs     = "labs"
)

// newRoot returns the command tree.
func newRoot(s *session) *cobra.Command {
	root := newGroup(&cobra.Command{
		Use:   "heddle",
		Short: "the container network of this host",
		Long: `heddle gives containers their networks. It asks the agent of this host, heddled,
over a unix socket.

Exit codes: 0 done, 1 a check failed or the kernel refused, 2 usage, 3 the agent
is unreachable, 4 not available on this kernel, 5 conflict, 6 timeout, 7 partly
done. An error bears an id; 'heddle explain ID' has its story.`,
		Version:           heddle.Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		PersistentPreRunE: s.checkGlobal,
	})
	root.SetOut(s.stdout)
	root.SetErr(s.stderr)
	root.CompletionOptions.DisableDefaultCmd = true
	s.globalFlags(root)
	root.AddGroup(&cobra.Group{ID: groupNetworks, Title: "Networks and endpoints:"},
		&cobra.Group{ID: groupHealth, Title: "Health:"}, &cobra.Group{ID: groupLabs, Title: "Labs:"})
	for _, makeCommand := range []func(*session) *cobra.Command{
		newNetwork, newAttach, newDetach, newEndpoint, newName, newPolicy, newHAVIP, newHost, newPeer, newPath, newNIC, newVPC,
		newStatus, newEvents, newFlows, newPing, newCheck, newAudit, newGC, newDoctor, newExplain,
		newLab, newBench, newCrowd,
		newVersion, newCompletion, newDocs,
	} {
		root.AddCommand(makeCommand(s))
	}
	return root
}

func (s *session) globalFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&s.socket, "socket", s.socket, "`path` of the agent's socket (environment: HEDDLE_SOCKET)")
	f.Lookup("socket").DefValue = client.DefaultSocket // the same text in every environment
	f.Func("vpc", "ask the agent of this `VPC` of the hypervisor, and not the host's", func(name string) error {
		s.socket, s.vpc = vpc.Socket(name), name
		return heddle.CheckVPCName(name)
	})
	root.RegisterFlagCompletionFunc("vpc", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return s.vpcNames(), cobra.ShellCompDirectiveNoFileComp
	})
	f.StringVarP(&s.format, "output", "o", s.format, "output `format`: table, wide (a table with all columns), json or yaml")
	f.Lookup("output").DefValue = formatTable
	root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{formatTable, formatWide, formatJSON, formatYAML}, cobra.ShellCompDirectiveNoFileComp))
}
