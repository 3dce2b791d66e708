package main

import (
	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

func newEndpointSet(s *session) *cobra.Command {
	var flags limitFlags
	dryRun := false
	cmd := &cobra.Command{
		Use: "set ID[/IF] (--rate RATE | --rate-in RATE | --rate-out RATE)", Args: withArgs("ID"), ValidArgsFunction: s.completeFrom(s.endpointIDs),
		Short: "Change an endpoint's limits",
		Long: `set changes how much an endpoint may receive and send, while it runs; see 'heddle attach'.
A direction that is not named keeps its limit; none takes it off. Another rate loses no
packet. When a direction gets a limit and had none, packets of that moment may be lost,
and when its limit is taken off, what waits for it is, too.`,
		Example: "  heddle endpoint set web --rate 100Mbit\n  heddle endpoint set web --rate-out 20Mbit --burst 64kB\n  heddle endpoint set web --rate none --dry-run",
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := flags.change()
			if err != nil {
				return err
			}
			if change.In == nil && change.Out == nil {
				return badCommand(cmd, "give one of --rate, --rate-in and --rate-out")
			}
			var e heddle.Endpoint
			var commands []string
			err = s.onEndpoint(cmd.Context(), args[0], toChange, func(id heddle.EndpointID) (err error) {
				e, commands, err = s.client().SetLimits(cmd.Context(), id, change, dryRun)
				return err
			})
			if err != nil {
				return err
			}
			if dryRun {
				return s.emitCommands(commands)
			}
			words := "no limits"
			if !e.Limits.IsZero() {
				words = "limits " + e.Limits.String()
			}
			return s.emitDone("Endpoint", e, "endpoint %s has %s", e.ID, words)
		},
	}
	flags.define(cmd.Flags())
	dryRunFlag(cmd, &dryRun)
	for _, free := range []string{"rate", "rate-in", "rate-out", "burst"} {
		cmd.RegisterFlagCompletionFunc(free, cobra.NoFileCompletions)
	}
	return cmd
}
