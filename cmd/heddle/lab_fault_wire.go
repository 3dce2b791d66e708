package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/lab"
)

func (f *faults) wire() *cobra.Command {
	var i impair.Impairment
	direction := string(lab.Both)
	c := f.command(&cobra.Command{
		Use: "wire WIRE", Short: "Lose, delay, double, reorder or corrupt the frames of a wire",
		Long: `wire puts a relay into the wire, which impairs the frames that pass it; the same
seed makes the same decisions. What is not said is sound in the directions that are
set; the other direction stays as it was. Without any flag, the relay is taken out
again.

--spoil-checksums plays a NIC that promises to compute checksums and does not.`,
		Example: "  heddle lab fault wire host1 --loss 5% --delay 20ms --jitter 5ms --seed 7\n  heddle lab fault wire host2 --direction out --duplicate 1% --reorder 2% --corrupt 0.1%\n  heddle lab fault wire host2",
	}, []string{"WIRE"}, func(ctx context.Context, l *lab.Lab, args []string) (string, error) {
		return "set", l.Impair(ctx, args[0], lab.Direction(direction), i)
	})
	fl := c.Flags()
	impairmentFlags(fl, &i)
	fl.Uint64Var(&i.Seed, "seed", 0, "seed of the decisions")
	fl.BoolVar(&i.SpoilChecksums, "spoil-checksums", false, "leave the checksums of what the host sends unfinished")
	fl.StringVar(&direction, "direction", direction, "both, out (what the host sends) or in")
	return c
}

func (f *faults) rate() *cobra.Command {
	return f.command(&cobra.Command{
		Use: "rate WIRE [RATE]", Short: "Change the rate of a wire",
		Long:    "rate paces a wire both ways: 10mbit, or unlimited. Without RATE, it is as it was\nmade.",
		Example: "  heddle lab fault rate host1 100mbit\n  heddle lab fault rate host1",
	}, []string{"WIRE", "[RATE]"}, func(ctx context.Context, l *lab.Lab, args []string) (string, error) {
		rate := impair.Rate(0)
		if len(args) > 1 {
			var err error
			if rate, err = impair.ParseRate(args[1]); err != nil {
				return "", err
			}
		}
		return "set", l.SetRate(ctx, args[0], rate)
	})
}

func (f *faults) mtu() *cobra.Command {
	hidden := false
	c := f.command(&cobra.Command{
		Use: "mtu WIRE [BYTES]", Short: "Change the MTU of a wire",
		Long:    "mtu changes both ends of a wire: its host sees it, a router answers with ICMP.\nWith --hidden only the switch's end: larger frames vanish. Without BYTES, it is as\nit was made.",
		Example: "  heddle lab fault mtu host1 1400\n  heddle lab fault mtu host1",
	}, []string{"WIRE", "[BYTES]"}, func(ctx context.Context, l *lab.Lab, args []string) (string, error) {
		mtu := 0
		if len(args) > 1 {
			var err error
			if mtu, err = strconv.Atoi(args[1]); err != nil || mtu == 0 {
				return "", heddle.Errorf(heddle.BadMTU, "set MTU of wire", args[0],
					fmt.Sprintf("%q is not a number above zero", args[1]), "give a number of bytes")
			}
		}
		return "set", l.SetMTU(ctx, args[0], mtu, hidden)
	})
	c.Flags().BoolVar(&hidden, "hidden", false, "only at the switch: nobody is told")
	return c
}

func (f *faults) clock() *cobra.Command {
	return f.command(&cobra.Command{
		Use: "clock HOST AHEAD", Short: "Start a host's agent again with a wrong clock",
		Long:    "clock starts the agent again with a clock that is ahead of the machine's: 1h, or\nbehind it: -30m (after '--'). 0 is the right time.",
		Example: "  heddle lab fault clock host1 1h\n  heddle lab fault clock -- host1 -30m\n  heddle lab fault clock host1 0",
	}, []string{"HOST", "AHEAD"}, func(ctx context.Context, l *lab.Lab, args []string) (string, error) {
		ahead, err := time.ParseDuration(args[1])
		if err != nil {
			return "", heddle.Errorf(heddle.BadArgument, "set clock of host", args[0],
				fmt.Sprintf("%q is not a duration", args[1]), "give a duration, such as 1h or -30m")
		}
		return "set", l.SetClock(ctx, args[0], ahead)
	})
}
