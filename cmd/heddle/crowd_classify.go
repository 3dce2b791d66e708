package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/classifier"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/script"
	"github.com/heddle-network/heddle/crowd/tally"
)

// classifyFlags are the flags of crowd classify.
type classifyFlags struct {
	mode       string
	round      int
	seed       uint64
	behaviours []string
}

func newCrowdClassify(s *session) *cobra.Command {
	var f classifyFlags
	cmd := &cobra.Command{
		Use: "classify FILE", Args: withArgs("FILE"),
		Short: "Ask whether what a crowd did can be told from its scenario",
		Long: `classify compares the sessions in a diary that 'heddle crowd run --diary' wrote with those of
a crowd of the same scenario that is drawn afresh, behaviour by behaviour. A logistic
regression learns from one half of the users of both, and is judged by the other half: if it
is right more often than by guessing, what was played is not what the scenario says. It sees
what the scenario decides: when sessions begin, which steps follow each other, the pauses
between them, mistakes, flows, how long calls and videos last. It does not see how long
anything took on the network. Without --mode and --round, it is the first round that is there.

The p-value comes from shuffling the held-out users between the two, and looks at the scores
that the regression gives to their sessions. A behaviour is told apart if it is below
0.05, after Holm's correction for the number of behaviours. Then, or if a behaviour has too
few sessions for a verdict, the command ends with exit code 1 (HDL-9002). The wrong
crowds that would be told apart with as many sessions are listed beside: in four of five
trials, at least. -o wide says how often each is.`,
		Example: "  heddle crowd classify diary.jsonl\n  heddle crowd classify diary.jsonl --mode routed --behaviours browse,mail -o wide",
		RunE:    func(cmd *cobra.Command, args []string) error { return s.classify(cmd, args[0], f) },
	}
	roundFlags(cmd, &f.mode, &f.round)
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the crowd that is drawn afresh (default: one more than the run's)")
	cmd.Flags().StringSliceVar(&f.behaviours, "behaviours", nil, "the behaviours to judge (default: all)")
	cmd.RegisterFlagCompletionFunc("behaviours", cobra.FixedCompletions(scenario.BuiltInBehaviours(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (s *session) classify(cmd *cobra.Command, file string, f classifyFlags) error {
	ctx := cmd.Context()
	author := script.NewAuthor(ctx)
	defer author.Close()
	stop := s.showProgress("reading " + file)
	played, err := classifier.Read(ctx, file, f.mode, f.round, author)
	stop()
	if err != nil {
		return err
	}
	if err := f.complete(cmd, played); err != nil {
		return err
	}
	stop = s.showProgress(fmt.Sprintf("comparing %d sessions", len(played.Sessions)))
	v, err := played.Judge(ctx, f.seed, f.behaviours)
	stop()
	if err != nil {
		return err
	}
	return errors.Join(s.emit("CrowdClassification", v, func(w io.Writer) error { return s.classifyScreen(w, v) }), v.Check())
}

// complete gives flags their defaults, and refuses those that do not fit what was played.
func (f *classifyFlags) complete(cmd *cobra.Command, played classifier.Played) error {
	all := played.Scenario.Done()
	for _, name := range f.behaviours {
		if !slices.Contains(all, name) {
			return heddle.Errorf(heddle.BadArgument, "read flag", "--behaviours", fmt.Sprintf("nobody does %q", heddle.Clip(name)), "choose from "+heddle.List(all))
		}
	}
	slices.Sort(f.behaviours)
	if f.behaviours = slices.Compact(f.behaviours); len(f.behaviours) == 0 {
		f.behaviours = all
	}
	if !cmd.Flags().Changed("seed") {
		f.seed = played.Run.Seed + 1
	}
	if f.seed == played.Run.Seed {
		return heddle.Errorf(heddle.BadArgument, "read flag", "--seed", fmt.Sprintf("%d is the run's own seed, and the crowd that was played is no other one", f.seed), "give another")
	}
	return nil
}

func (s *session) classifyScreen(w io.Writer, v classifier.Verdict) error {
	err := fieldTable(w, s.width(), [2]string{"crowd", v.Crowd}, [2]string{"round", fmt.Sprintf("%d, mode %s", v.Round, v.Mode)},
		[2]string{"crowd's lag", "p99 " + shortDuration(v.Lag)}, [2]string{"drawn with", fmt.Sprintf("seed %d", v.Seed)})
	if err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := writeColumns(w, s.width(), classifyColumns(s.isWide()), v.Behaviours); err != nil {
		return err
	}
	if v.Lag > tally.MaxLate {
		s.note("the crowd was late by more than %s, so its figures say nothing about the network", tally.MaxLate)
	}
	for _, b := range v.Behaviours {
		for _, sign := range b.Signs {
			s.note("%s: %s: on average %.4g, drawn %.4g (times in seconds); distance %.2f", b.Behaviour, sign.Feature, sign.Played, sign.Drawn, sign.Distance)
		}
		if b.Cut > 0 {
			s.note("%s: %s cut short, by the network, people's patience, or the run's end; drawn sessions were cut in the same manner", b.Behaviour, heddle.Count(b.Cut, "session"))
		}
	}
	return nil
}

func classifyColumns(wide bool) []tableColumn[classifier.Behaviour] {
	judged := func(text func(classifier.Behaviour) string) func(classifier.Behaviour) string {
		return func(b classifier.Behaviour) string {
			if b.Answer == classifier.TooFew {
				return "-"
			}
			return text(b)
		}
	}
	all := []tableColumn[classifier.Behaviour]{
		{"behaviour", func(b classifier.Behaviour) string { return b.Behaviour }},
		{"sessions", func(b classifier.Behaviour) string { return strconv.Itoa(b.Sessions) }},
		{"right", judged(func(b classifier.Behaviour) string {
			return fmt.Sprintf("%.0f%% [%.0f–%.0f%%]", 100*b.Accuracy, 100*b.Low, 100*b.High)
		})},
		{"p", judged(func(b classifier.Behaviour) string { return pText(b.P) })},
		{"holm's", judged(func(b classifier.Behaviour) string { return pText(b.Adjusted) })},
		{"told apart", func(b classifier.Behaviour) string { return string(b.Answer) }},
		{"would be noticed", judged(func(b classifier.Behaviour) string { return powerText(b.Power, wide) })},
	}
	if wide {
		all = slices.Insert(all, 2, tableColumn[classifier.Behaviour]{"users", func(b classifier.Behaviour) string { return strconv.Itoa(b.Users) }},
			tableColumn[classifier.Behaviour]{"cut short", func(b classifier.Behaviour) string { return strconv.Itoa(b.Cut) }},
			tableColumn[classifier.Behaviour]{"drawn", func(b classifier.Behaviour) string { return strconv.Itoa(b.Drawn) }})
	}
	return all
}

// pText writes a p-value.
func pText(p float64) string { return strconv.FormatFloat(p, 'g', 2, 64) }

// powerText lists the wrong crowds that would be told apart, or all with how often they are.
func powerText(all []classifier.Power, wide bool) string {
	var some []string
	for _, p := range all {
		switch {
		case wide:
			some = append(some, fmt.Sprintf("%s %d/%d", p.Wrong, p.Noticed, p.Of))
		case p.Would():
			some = append(some, p.Wrong)
		}
	}
	if some == nil {
		return "none of these"
	}
	return strings.Join(some, ", ")
}
