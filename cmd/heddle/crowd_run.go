package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/rig"
	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/durable"
)

// runFlags are the flags of crowd run.
type runFlags struct {
	planFlags
	network string
	rounds  int
}

func newCrowdRun(s *session) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run FILE", Args: withArgs("FILE"),
		Short: "Let a crowd do what is planned, on one network mode after the other",
		Long: `run plays the plan of a scenario: each user gets a network namespace and an address,
through the same call of the agent as every container's, and does what is planned, when
it is planned. The services that people use are built in: they answer in the sizes of
the plan, over TCP; calls go from user to user, over UDP.

Without --network, run makes a lab host, and plays the same plan on a new network of
each of the --modes, in --rounds; each round takes the modes in another order. The lab
is removed afterwards. With --network, it plays once on that network of this host's agent.

What is measured: how long people waited for each action, from when they wanted it
(service: from when the crowd began it); Apdex, the share of satisfied people; how calls
sounded (MOS by ITU-T G.107) and videos played; and by how much the crowd itself was late.
If that is more than 10 ms in one of a hundred steps, the figures say nothing about the
network, and the command says so and ends with exit code 1 (HDL-9002).`,
		Example: "  heddle crowd run small.yaml\n  heddle crowd run small.yaml --modes bridge,routed --rounds 3 --out report.json\n" +
			"  heddle crowd run small.yaml --network web",
		RunE: func(cmd *cobra.Command, args []string) error { return s.crowdRun(cmd, args[0], f) },
	}
	g := cmd.Flags()
	g.IntVar(&f.users, "users", 0, "number of users (default: the scenario's)")
	g.Uint64Var(&f.seed, "seed", 0, "seed of the plan (default: the scenario's)")
	g.StringVar(&f.out, "out", "", "write the report to `FILE`, as JSON")
	g.IntVar(&f.rounds, "rounds", 1, "how often each mode is played")
	g.StringVar(&f.network, "network", "", "play on that network of this host, which is there")
	g.StringSliceVar(&f.modes, "modes", []string{"bridge", "routed", "macvlan", "overlay"}, "the modes to play on")
	cmd.RegisterFlagCompletionFunc("modes", cobra.FixedCompletions(crowdModes(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("network", s.completeFrom(s.networkNames))
	cmd.MarkFlagsMutuallyExclusive("network", "modes")
	return cmd
}

// crowdModes are the modes in which any number of users get addresses of their own.
func crowdModes() []string {
	return slices.DeleteFunc(slices.Clone(modeNames()), func(m string) bool { return m == "host" || m == "direct" })
}

func (s *session) crowdRun(cmd *cobra.Command, file string, f runFlags) error {
	read, err := f.scenario(cmd, file)
	if err != nil {
		return err
	}
	if f.rounds < 1 || f.rounds > 1000 {
		return heddle.Errorf(heddle.BadArgument, "read flag", "--rounds", fmt.Sprintf("%d is none of 1 to 1000", f.rounds), "give 1 or more")
	}
	if f.network != "" {
		return s.playHere(cmd.Context(), read, f.network)
	}
	for _, m := range f.modes {
		if !slices.Contains(crowdModes(), m) {
			return heddle.Errorf(heddle.BadArgument, "read flag", "--modes", "in mode "+m+" users have no addresses of their own, or a NIC each",
				"choose from "+heddle.List(crowdModes()))
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "read scenario", file, err, "name a readable file")
	}
	drawn, err := s.drawPlan(cmd.Context(), read, "")
	if err != nil {
		return err
	}
	if err := drawn.Refuse(drawn.Needs(machineLimits()), f.modes); err != nil {
		return err
	}
	return s.playModes(cmd.Context(), read, drawn, text, f)
}

// playHere plays once, on a network of this host.
func (s *session) playHere(ctx context.Context, read scenario.Scenario, network string) error {
	n, err := s.client().Network(ctx, network)
	if err != nil {
		return err
	}
	raiseFileLimit()
	r, err := round.Play(ctx, round.Options{Scenario: read, Agent: s.client(), Network: n, Progress: func(step string) { s.note("%s", step) }})
	if err != nil && r.Users == 0 {
		return err
	}
	one := report.Report{Crowd: read.Name, Seed: read.Seed, Users: r.Users, Length: r.Length, Modes: []string{r.Mode},
		Rounds: []report.Round{{Number: 1, Round: r}}}
	return errors.Join(s.emit("CrowdRound", r, func(w io.Writer) error { return s.reportScreen(w, one) }), err, invalid(one))
}

// playModes plays in a lab, each mode once in each round.
func (s *session) playModes(ctx context.Context, read scenario.Scenario, drawn plan.Summary, text []byte, f runFlags) error {
	out := report.Report{Crowd: read.Name, Seed: read.Seed, Users: read.Users, Length: time.Duration(read.Clock.Length),
		SHA256: drawn.SHA256, Modes: f.modes, LeftOut: map[string]string{}}
	r, err := rig.New(ctx, rig.Options{Name: fmt.Sprintf("crowd-%d", os.Getpid()), Modes: f.modes, Users: read.Users, Text: text,
		Seed: read.Seed, Notes: func(line string) { s.note("%s", line) }})
	if err != nil {
		return err
	}
	failed := s.playRounds(ctx, r, &out, f.rounds)
	if err := r.Close(context.WithoutCancel(ctx)); err != nil {
		failed = errors.Join(failed, err)
	}
	if len(out.Rounds) == 0 {
		return failed
	}
	if failed != nil {
		out.Partial = failed.Error()
	}
	if f.out != "" {
		if err := s.writeReport(f.out, out); err != nil {
			return errors.Join(failed, err)
		}
	}
	return errors.Join(s.emit("CrowdReport", out, func(w io.Writer) error { return s.reportScreen(w, out) }), failed, invalid(out))
}

// playRounds plays the rounds, each with another mode first. A mode that this kernel does not have is left out.
func (s *session) playRounds(ctx context.Context, r *rig.Rig, out *report.Report, rounds int) error {
	for number := 1; number <= rounds; number++ {
		for i := range out.Modes {
			mode := out.Modes[(i+number-1)%len(out.Modes)]
			if out.LeftOut[mode] != "" {
				continue
			}
			s.note("round %d of %d: mode %s", number, rounds, mode)
			played, err := r.Play(ctx, mode)
			var known *heddle.Error
			if number == 1 && errors.As(err, &known) && known.Code == heddle.NotOnKernel {
				out.LeftOut[mode] = known.Error()
				s.note("left out mode %s: %s", mode, known.Error())
				continue
			}
			if played.Users > 0 {
				out.Rounds = append(out.Rounds, report.Round{Number: number, Round: played})
			}
			if err != nil && (ctx.Err() != nil || played.Users == 0) {
				return err
			}
		}
	}
	return nil
}

func (s *session) writeReport(file string, r report.Report) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = durable.Stream(file, 0o644, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
	}
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "write report", file, err, "name a file that can be written")
	}
	s.note("the report is in %s", file)
	return nil
}

// invalid is the error of a run of which some rounds say nothing about the network.
func invalid(r report.Report) error {
	var why []string
	for _, one := range r.Rounds {
		if one.Invalid != "" {
			why = append(why, fmt.Sprintf("round %d in mode %s: %s", one.Number, one.Mode, one.Invalid))
		}
	}
	if why == nil {
		return nil
	}
	return heddle.Errorf(heddle.CrowdFailed, "play crowd", r.Crowd, strings.Join(why, "; "),
		"give fewer --users, or leave the machine alone while the crowd plays")
}
