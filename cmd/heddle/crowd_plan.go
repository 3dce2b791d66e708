package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/script"
	"github.com/heddle-network/heddle/durable"
)

// planFlags are the flags of crowd plan.
type planFlags struct {
	users, user int
	seed        uint64
	out         string
	modes       []string
}

func newCrowdPlan(s *session) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use: "plan FILE", Args: withArgs("FILE"),
		Short: "Draw what a crowd will do, and what that needs",
		Long: `plan draws everything that can be drawn before the first packet: who begins what
when, in which steps, how large and how long. Nothing is sent. The same scenario and
seed give the same plan on every machine: the SHA-256 says so, and is that of the
file that --out writes, one session a line. One more user changes nobody else's.

What the plan needs is compared with the limits of this machine. If one is too low
in one of the --modes, the command says which, and how to raise it, and ends with
exit code 1 (HDL-9001); the plan is written all the same.

With --user, the diary of one user is printed, and nothing else.

A behaviour that is a script is asked for each of its sessions. The script runs in a
container without a network, as nobody; to make the container takes root.`,
		Example: "  heddle crowd plan small.yaml\n  heddle crowd plan small.yaml --users 50 --seed 2 --out plan.jsonl\n" +
			"  heddle crowd plan small.yaml --user 7",
		RunE: func(cmd *cobra.Command, args []string) error {
			read, err := f.scenario(cmd, args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("user") {
				return s.crowdDiary(cmd.Context(), read, f.user)
			}
			return s.crowdPlan(cmd.Context(), read, f)
		},
	}
	g := cmd.Flags()
	g.IntVar(&f.users, "users", 0, "number of users (default: the scenario's)")
	g.Uint64Var(&f.seed, "seed", 0, "seed of the plan (default: the scenario's)")
	g.StringVar(&f.out, "out", "", "write the plan to `FILE`")
	g.IntVar(&f.user, "user", 0, "print the diary of the user of that `number`, from 1")
	g.StringSliceVar(&f.modes, "modes", []string{"bridge", "routed", "macvlan", "overlay"},
		"the modes whose needs must be met")
	cmd.RegisterFlagCompletionFunc("modes", cobra.FixedCompletions(modeNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// scenario reads the file, and changes it as the flags say.
func (f planFlags) scenario(cmd *cobra.Command, file string) (read scenario.Scenario, err error) {
	for _, m := range f.modes {
		if !slices.Contains(modeNames(), m) {
			return read, heddle.Errorf(heddle.UnknownMode, "read flag", "--modes",
				fmt.Sprintf("there is no mode %q", heddle.Clip(m)), "choose from "+heddle.List(modeNames()))
		}
	}
	if f.out != "" && cmd.Flags().Changed("user") {
		return read, heddle.Errorf(heddle.BadArgument, "read flag", "--out", "--user is given as well", "give one of the two")
	}
	if read, err = scenario.Read(file); err != nil {
		return read, err
	}
	if err := checkOut(f.out, file); err != nil {
		return read, err
	}
	if cmd.Flags().Changed("seed") {
		read.Seed = f.seed
	}
	if cmd.Flags().Changed("users") {
		read, err = read.Resize(f.users)
	}
	return read, err
}

// checkOut refuses a file that cannot be written, before anything is done. None is always right.
func checkOut(out, scenario string) error {
	if out == "" {
		return nil
	}
	if sameFile(scenario, out) {
		return heddle.Errorf(heddle.BadArgument, "read flag", "--out", "it is the scenario's own file", "name another file")
	}
	if is, err := os.Stat(out); err == nil && !is.Mode().IsRegular() {
		return heddle.Errorf(heddle.BadArgument, "write file", out, "it is there, and no regular file", "name another file")
	}
	trial, err := os.CreateTemp(filepath.Dir(out), ".heddle-*")
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "write file", out, err, "name a file that can be written")
	}
	trial.Close()
	return os.Remove(trial.Name())
}

// sameFile reports whether two names are of one file that is there.
func sameFile(a, b string) bool {
	is, err1 := os.Stat(a)
	other, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(is, other)
}

// crowdPlan is the output document of crowd plan.
type crowdPlan struct {
	plan.Summary
	Needs []plan.Need `json:"needs"`
	// Events are the scenario's. Those for which people gather are in the plan, others do not change it.
	Events []scenario.Event `json:"events,omitempty"`
}

func (s *session) crowdPlan(ctx context.Context, read scenario.Scenario, f planFlags) error {
	drawn, err := s.drawPlan(ctx, read, f.out, plan.Here{})
	if err != nil {
		return err
	}
	p := crowdPlan{drawn, drawn.Needs(machineLimits()), read.Events}
	err = s.emit("CrowdPlan", p, func(w io.Writer) error { return s.planScreen(w, read.Clock, p, f.modes) })
	if err != nil {
		return err
	}
	if f.out != "" {
		s.note("the plan is in %s", f.out)
	}
	return p.Refuse(p.Needs, f.modes)
}

// drawPlan draws the plan, and writes it to the file, if one is named.
func (s *session) drawPlan(ctx context.Context, read scenario.Scenario, file string, h plan.Here) (drawn plan.Summary, err error) {
	defer s.showProgress(fmt.Sprintf("planning %d users", read.Users))()
	author := script.NewAuthor(ctx)
	defer author.Close()
	if file == "" {
		return plan.New(read, author).Only(h).Write(ctx, io.Discard)
	}
	err = durable.Stream(file, 0o644, func(w io.Writer) (err error) {
		drawn, err = plan.New(read, author).Write(ctx, w)
		return err
	})
	if err != nil {
		return drawn, heddle.Wrap(heddle.BadArgument, "write plan", file, err,
			"name a file that can be written, with room for it")
	}
	return drawn, nil
}

func (s *session) crowdDiary(ctx context.Context, read scenario.Scenario, user int) error {
	if err := checkUser(read.Users, user); err != nil {
		return err
	}
	author := script.NewAuthor(ctx)
	defer author.Close()
	d, err := plan.New(read, author).User(ctx, user)
	if err != nil {
		return err
	}
	return s.emit("CrowdDiary", d, func(w io.Writer) error { return s.diaryTable(w, d) })
}

// sessionName is a session's behaviour and number, and the event for which the user gathers, if there is one.
func sessionName(one plan.Session) string {
	name := fmt.Sprintf("%s %d", one.Behaviour, one.Number)
	if one.Event > 0 {
		name += fmt.Sprintf(", event %d", one.Event)
	}
	return name
}

// diaryTable shows a diary, a line for each step.
func (s *session) diaryTable(w io.Writer, d plan.Diary) error {
	s.note("user %d is a %s", d.User, d.Persona)
	if d.Cut > 0 {
		s.note("cut off: %s", cutWords(d.Cut))
	}
	if len(d.Sessions) == 0 {
		s.note("no sessions")
		return nil
	}
	var rows [][]string
	head := strings.Split("at,session,does,with,requests,sends,receives,takes", ",")
	cached := hasCaches(d)
	if cached {
		head = append(head, "cache")
	}
	for _, one := range d.Sessions {
		begins, _ := one.Begins()
		for i, step := range one.Steps {
			sent, received := step.Bytes()
			rows = append(rows, []string{clockTime(one.Start + begins[i]), sessionName(one), doing(step),
				fmt.Sprint(step.To), fmt.Sprint(step.Requests()), plan.FormatBytes(sent), plan.FormatBytes(received),
				shortDuration(step.Takes())})
			if cached {
				rows[len(rows)-1] = append(rows[len(rows)-1], cacheWords(step))
			}
		}
	}
	return writeTable(w, s.width(), head, rows)
}
