package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/lab"
)

// faults has what the subcommands of "lab fault" share.
type faults struct {
	*session
	lab string
}

func newLabFault(s *session) *cobra.Command {
	f := &faults{session: s}
	cmd := newGroup(&cobra.Command{Use: "fault", Short: "Break and mend a lab while it runs",
		Long: `fault breaks things in a lab that is up, and mends them. A wire is named by its
host (its eth0), by host and NIC (host1:eth1), or by a switch, for all its wires.
Faults go with the lab.`},
		f.cut(), f.heal(), f.wire(), f.rate(), f.mtu(), f.pause(), f.resume(), f.kill(), f.reset(), f.clock(), f.list(), f.clear())
	cmd.PersistentFlags().StringVar(&f.lab, "lab", defaultLab, "`name` of the lab")
	cmd.RegisterFlagCompletionFunc("lab", s.completeFrom(s.labNames))
	return cmd
}

// command completes a command that changes the lab; do returns what to print.
func (f *faults) command(c *cobra.Command, args []string, do func(ctx context.Context, l *lab.Lab, args []string) (outcome string, err error)) *cobra.Command {
	c.Args = withArgs(args...)
	c.ValidArgsFunction = f.completeLabHosts(&f.lab)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		l, err := lab.Load(lab.DefaultDir, f.lab)
		if err != nil {
			return err
		}
		outcome, err := do(cmd.Context(), l, args)
		if err != nil {
			return err
		}
		return f.emitDone("LabFaults", l.Faults(), "%s", outcome)
	}
	return c
}

func secondArg(args []string) string {
	if len(args) > 1 {
		return args[1]
	}
	return ""
}

func (f *faults) cut() *cobra.Command {
	oneWay := false
	c := f.command(&cobra.Command{
		Use: "cut HOST [HOST]", Short: "Keep the frames of a host, or of two, from each other",
		Long:    "cut drops all frames between two hosts, or between one and everybody, in the\nswitch: no carrier goes. With --one-way, only what the first host sends is lost.",
		Example: "  heddle lab fault cut host1 host2\n  heddle lab fault cut host2 --one-way",
	}, []string{"HOST", "[HOST]"}, func(ctx context.Context, l *lab.Lab, args []string) (string, error) {
		return "cut", l.Cut(ctx, args[0], secondArg(args), oneWay)
	})
	c.Flags().BoolVar(&oneWay, "one-way", false, "only what the first host sends")
	return c
}

func (f *faults) heal() *cobra.Command {
	return f.command(&cobra.Command{
		Use: "heal HOST [HOST]", Short: "Take cuts away",
		Example: "  heddle lab fault heal host1 host2\n  heddle lab fault heal host2",
	}, []string{"HOST", "[HOST]"}, func(ctx context.Context, l *lab.Lab, args []string) (string, error) {
		return "healed", l.Heal(ctx, args[0], secondArg(args))
	})
}

func (f *faults) pause() *cobra.Command {
	all := false
	c := f.command(&cobra.Command{
		Use: "pause HOST", Short: "Stop a host's agent, or all of its processes (SIGSTOP)",
		Example: "  heddle lab fault pause host2",
	}, []string{"HOST"}, func(ctx context.Context, l *lab.Lab, args []string) (string, error) {
		return "paused", l.Pause(ctx, args[0], all)
	})
	c.Flags().BoolVar(&all, "all", false, "all processes of the host")
	return c
}

func (f *faults) resume() *cobra.Command {
	return f.command(&cobra.Command{
		Use: "continue HOST", Short: "Let a paused host go on",
		Example: "  heddle lab fault continue host2",
	}, []string{"HOST"}, func(ctx context.Context, l *lab.Lab, args []string) (string, error) {
		return "goes on", l.Continue(ctx, args[0])
	})
}

func (f *faults) kill() *cobra.Command {
	stay := false
	c := f.command(&cobra.Command{
		Use: "kill HOST", Short: "Kill a host's agent (kill -9) and start it again",
		Example: "  heddle lab fault kill host2",
	}, []string{"HOST"}, func(ctx context.Context, l *lab.Lab, args []string) (string, error) {
		h, err := l.Host(args[0])
		if err == nil {
			err = l.KillAgent(ctx, h.Name)
		}
		if err != nil || stay {
			return "killed", err
		}
		return "killed and started again", h.StartAgent(ctx)
	})
	c.Flags().BoolVar(&stay, "stay-dead", false, "do not start it again; the next kill does")
	return c
}

func (f *faults) reset() *cobra.Command {
	return f.command(&cobra.Command{
		Use: "reset HOST", Short: "Cut the power of a virtual machine, and boot it again",
		Long: `reset ends a virtual machine of the lab without a word, and boots it again. What was in
its memory is gone, and so are the files that it wrote and the NICs that were plugged
in. Of its programs none runs then: 'heddle lab fault kill HOST' starts its agent.`,
		Example: "  heddle lab fault reset host2",
	}, []string{"HOST"}, func(ctx context.Context, l *lab.Lab, args []string) (string, error) {
		return "booted again", l.Reset(ctx, args[0])
	})
}

func (f *faults) clear() *cobra.Command {
	return f.command(&cobra.Command{
		Use: "clear", Short: "Mend everything",
		Example: "  heddle lab fault clear",
	}, nil, func(ctx context.Context, l *lab.Lab, _ []string) (string, error) {
		return "all is well", l.ClearFaults(ctx)
	})
}
