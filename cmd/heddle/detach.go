package main

import (
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
	ifname := ""
	cmd := &cobra.Command{
		Use: "detach ID[/IF]", GroupID: groupNetworks, Args: withArgs("ID"), ValidArgsFunction: s.completeFrom(s.endpointIDs),
		Short: "Detach a container from a network",
		Long: `detach removes an endpoint with all that was made for it. An endpoint that is not
there is removed already: that is no error.

The exit code is 7 when it is not proven that the container has let go of its NIC
(mode direct) or of its parent's LAN (macvlan, ipvlan): it has hidden a device, or
put another in its place. NIC and addresses are in quarantine then: nobody gets
them, 'heddle status' and 'heddle audit' say why, and the agent tries again.`,
		Example: "  heddle detach web --ifname eth1\n  heddle detach resolver/eth0\n  heddle detach shop",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseEndpoint(args[0], ifname)
			if err != nil {
				return err
			}
			defer s.showProgress("detaching")()
			found, err := s.client().Detach(cmd.Context(), id)
			if err != nil {
				return err
			}
			outcome := "detached"
			if !found {
				outcome = "was not attached"
			}
			return s.emitDone("Detachment", detachResult{id, found}, "endpoint %s %s", id, outcome)
		},
	}
	cmd.Flags().StringVar(&ifname, "ifname", "", "the interface's `name` in the container (default eth0)")
	cmd.RegisterFlagCompletionFunc("ifname", cobra.NoFileCompletions)
	return cmd
}

// parseEndpoint reads ID or ID/IF, with the interface from --ifname if that is given.
func parseEndpoint(word, ifname string) (heddle.EndpointID, error) {
	if ifname == "" {
		return heddle.ParseEndpointID(word)
	}
	container, own, found := strings.Cut(word, "/")
	if found && own != ifname {
		return heddle.EndpointID{}, heddle.Errorf(heddle.BadArgument, "detach endpoint", word,
			"--ifname names another interface, "+ifname, "name the interface once")
	}
	id := heddle.EndpointID{Container: container, IfName: ifname}
	return id, id.Check()
}
