package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/live"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// crowdTeller has what commands share that tell a run something.
type crowdTeller struct {
	*session
	pid int
}

// pidFlag says which run is told.
func (f *crowdTeller) pidFlag(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.IntVar(&f.pid, "pid", 0, "process of the run, where there are several ('heddle crowd status')")
	cmd.RegisterFlagCompletionFunc("pid", f.completeFrom(f.pids))
}

func newCrowdFault(s *session) *cobra.Command {
	f := &crowdTeller{session: s}
	cmd := newGroup(&cobra.Command{Use: "fault", Short: "Break and mend things while a crowd plays",
		Long: `fault tells a 'heddle crowd run' that goes on: a service fails, or a persona's link is another
one, from now on. It lasts for --for, or until 'fault clear', or until the round ends:
each round begins without. Reports and diaries have it as given by hand, for such a run
cannot be repeated. What is known before belongs in the scenario's events.

A run is told by its own user alone. If there are several, --pid says which one.`},
		f.service(), f.link(), f.clear())
	f.pidFlag(cmd, cmd.PersistentFlags())
	return cmd
}

// forFlag says how long a fault lasts.
func forFlag(flags *pflag.FlagSet, d *time.Duration) {
	flags.DurationVar(d, "for", 0, "how long it lasts (default: until 'fault clear', or until the round ends)")
}

func (f *crowdTeller) service() *cobra.Command {
	var e scenario.Event
	cmd := &cobra.Command{
		Use: "service NAME FAULT", Args: withArgs("NAME", "FAULT"),
		Short: "Have a service fail",
		Long: `service gives a service a fault. 'down': connections are refused, those that are open are
reset. 'silent': connections and requests are taken, and answered when the fault has ended.
Its name is still answered. Calls go from user to user, so there is no service voice.`,
		Example:           "  heddle crowd fault service mail down --for 2m\n  heddle crowd fault service mail silent",
		ValidArgsFunction: f.completeFrom(f.of(func(r live.Run) []string { return r.Servers }), scenario.Faults),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(scenario.Faults(), args[1]) {
				return heddle.Errorf(heddle.BadArgument, "read argument", "FAULT", fmt.Sprintf("%q is no fault of a service", heddle.Clip(args[1])),
					"choose from "+heddle.List(scenario.Faults()))
			}
			e.Service, e.Fault = args[0], scenario.Fault(args[1])
			return f.begin(cmd, e)
		},
	}
	forFlag(cmd.Flags(), &e.For)
	return cmd
}

func (f *crowdTeller) link() *cobra.Command {
	var e scenario.Event
	var l scenario.Link
	cmd := &cobra.Command{
		Use: "link PERSONA", Args: withArgs("PERSONA"),
		Short: "Give the users of a persona another link",
		Long: `link puts another link in place of a persona's own, for each direction. What is not said is
sound. The persona must have a link in the scenario; 'link: sound' is one that changes
nothing by itself.`,
		Example:           "  heddle crowd fault link remote --delay 300ms --loss 5% --for 1m\n  heddle crowd fault link remote --rate 256kbit",
		ValidArgsFunction: f.completeFrom(f.of(func(r live.Run) []string { return r.Linked }), noWords),
		RunE: func(cmd *cobra.Command, args []string) error {
			said := false
			cmd.Flags().Visit(func(flag *pflag.Flag) { said = said || flag.Name != "for" && flag.Name != "pid" })
			if !said {
				return heddle.Errorf(heddle.BadArgument, "change link of", args[0], "it is not said how",
					"give --delay, --loss or another flag; 'heddle crowd fault clear' gives the own link back")
			}
			if err := l.Check(); err != nil {
				return err
			}
			e.Persona, e.Link = args[0], &l
			return f.begin(cmd, e)
		},
	}
	impairmentFlags(cmd.Flags(), &l.Impairment)
	cmd.Flags().Var(rateFlag{&l.Rate}, "rate", "`rate` at which frames leave, such as 20mbit")
	forFlag(cmd.Flags(), &e.For)
	return cmd
}

// noWords are the words of an argument that is not there.
func noWords() []string { return nil }

func (f *crowdTeller) clear() *cobra.Command {
	return &cobra.Command{
		Use: "clear", Args: withArgs(),
		Short:   "End the faults that were given by hand",
		Long:    "clear ends what 'fault' has begun. Events of the scenario go on.",
		Example: "  heddle crowd fault clear",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.tell(cmd.Context(), event.Command{Clear: true}, "what was given by hand has ended")
		},
	}
}

// begin begins a fault.
func (f *crowdTeller) begin(cmd *cobra.Command, e scenario.Event) error {
	if cmd.Flags().Changed("for") && e.For <= 0 {
		return heddle.Errorf(heddle.BadArgument, "read flag", "--for", fmt.Sprintf("%v is no time for which it could last", e.For), "give one such as 2m, or none")
	}
	lasts := "until it is cleared, or the round ends"
	if e.For > 0 {
		lasts = "for " + scenario.Short(e.For)
	}
	return f.tell(cmd.Context(), event.Command{Begin: &e}, e.String()+", "+lasts)
}

// crowdTold is the output document of crowd fault.
type crowdTold struct {
	PID   int    `json:"pid"`
	Crowd string `json:"crowd"`
	// Events are those that go on now.
	Events []diary.Event `json:"events"`
}

// tell tells the run that goes on.
func (f *crowdTeller) tell(ctx context.Context, c event.Command, done string) error {
	run, err := f.run()
	if err != nil {
		return err
	}
	told, err := live.Tell(ctx, run.PID, c)
	if err != nil {
		return err
	}
	return f.emitDone("CrowdFaults", crowdTold{run.PID, run.Crowd, append([]diary.Event{}, told.Events...)}, "%s", done)
}

// run is the one that goes on, or that of --pid.
func (f *crowdTeller) run() (run live.Run, err error) {
	all, err := live.Find()
	if err != nil {
		return run, heddle.Wrap(heddle.CrowdFailed, "look for crowds", "", err, "")
	}
	var words []string
	for _, r := range all {
		if r.PID == f.pid || f.pid == 0 && len(all) == 1 {
			return r, nil
		}
		words = append(words, fmt.Sprintf("%s of process %d", r.Crowd, r.PID))
	}
	switch {
	case len(all) == 0:
		return run, heddle.Errorf(heddle.CrowdFailed, "find crowd", "", "no crowd of yours plays", "begin one with 'heddle crowd run'")
	case f.pid == 0:
		return run, heddle.Errorf(heddle.Ambiguous, "find crowd", "", "several play: "+heddle.List(words), "give --pid")
	}
	return run, heddle.Errorf(heddle.CrowdFailed, "find crowd of process", strconv.Itoa(f.pid), "there are only: "+heddle.List(words), "give another --pid")
}

// of lists what the runs have of something.
func (f *crowdTeller) of(what func(live.Run) []string) func() []string {
	return func() (words []string) {
		all, _ := live.Find()
		for _, r := range all {
			if f.pid == 0 || f.pid == r.PID {
				words = append(words, what(r)...)
			}
		}
		slices.Sort(words)
		return slices.Compact(words)
	}
}

// pids lists the processes of the runs.
func (f *crowdTeller) pids() []string {
	return f.of(func(r live.Run) []string {
		return []string{cobra.CompletionWithDesc(strconv.Itoa(r.PID), r.Crowd)}
	})()
}
