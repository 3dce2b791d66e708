package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

// detachResult is the output document of a detach.
type detachResult struct {
	ID heddle.EndpointID `json:"id"`
	// Found says that there was an endpoint to remove.
	Found bool `json:"found"`
}

func newDetach(s *session) *cobra.Command {
	ifname, dryRun := "", false
	cmd := &cobra.Command{
		Use: "detach ID[/IF]", GroupID: groupNetworks, Args: withArgs("ID"), ValidArgsFunction: s.completeFrom(s.endpointIDs),
		Short: "Detach a container from a network",
		Long: `detach removes an endpoint with all that was made for it. An endpoint that is not
there is removed already: that is no error.

The exit code is 7 when it is not proven that the container has let go of its NIC
(mode direct) or of its parent's LAN (macvlan, ipvlan): it has hidden a device, or
put another in its place. NIC and addresses are in quarantine then: nobody gets
them, 'heddle status' and 'heddle audit' say why, and the agent tries again.`,
		Example: `  heddle detach web --ifname eth1
  heddle detach resolver/eth0 --dry-run
  heddle detach resolver/eth0
  heddle detach shop`,
		RunE: func(cmd *cobra.Command, args []string) error {
			word, err := withInterface(args[0], ifname)
			if err != nil {
				return err
			}
			defer s.showProgress("detaching")()
			var id heddle.EndpointID
			var commands []string
			err = s.onEndpoint(cmd.Context(), word, toChange, func(of heddle.EndpointID) (err error) {
				id = of
				found := false
				if dryRun {
					commands, found, err = s.client().DetachCommands(cmd.Context(), of)
				} else {
					found, err = s.client().Detach(cmd.Context(), of)
				}
				if err == nil && !found {
					err = heddle.NoEndpoint.Sentinel()
				}
				return err
			})
			found := err == nil
			if err != nil && !errors.Is(err, heddle.NoEndpoint.Sentinel()) {
				return err
			}
			if dryRun {
				return s.emitCommands(commands)
			}
			outcome := "detached"
			if !found {
				outcome = "was not attached"
			}
			return s.emitDone("Detachment", detachResult{id, found}, "endpoint %s %s", id, outcome)
		},
	}
	cmd.Flags().StringVar(&ifname, "ifname", "", "the interface's `name` in the container (default eth0)")
	dryRunFlag(cmd, &dryRun)
	cmd.RegisterFlagCompletionFunc("ifname", cobra.NoFileCompletions)
	return cmd
}

// withInterface adds the interface from --ifname to the word, if that is given.
func withInterface(word, ifname string) (string, error) {
	if _, own, found := strings.Cut(word, "/"); found && ifname != "" && own != ifname {
		return "", heddle.Errorf(heddle.BadArgument, "detach endpoint", word,
			"--ifname names another interface, "+ifname, "name the interface once")
	} else if found || ifname == "" {
		return word, nil
	}
	return word + "/" + ifname, nil
}
