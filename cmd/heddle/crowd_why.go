package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/tally"
)

func newCrowdWhy(s *session) *cobra.Command {
	var round int
	var mode string
	cmd := &cobra.Command{
		Use: "why USER FILE", Args: withArgs("USER", "FILE"),
		Short: "Show what a user planned to do, and what came of it",
		Long: `why puts a user's planned diary beside what happened in a round: when each step was to
begin, when it did, how long the user waited, and why it failed; and the events that touch
the user: of the persona's link, of services that the user's steps go to, those for which
the user gathers, and those by which the user came or went ('crowd scale'). USER is a number, from 1;
FILE is what 'heddle crowd run --diary' wrote. Without --mode and --round, it is
the first round that is there.`,
		Example: "  heddle crowd why 7 diary.jsonl\n  heddle crowd why 7 diary.jsonl --mode routed --round 2",
		RunE: func(cmd *cobra.Command, args []string) error {
			user, err := strconv.Atoi(args[0])
			if err != nil {
				return heddle.Errorf(heddle.BadArgument, "read argument", "USER", fmt.Sprintf("%q is no number", heddle.Clip(args[0])), "give the user's number, from 1")
			}
			w, err := readWhy(cmd.Context(), args[1], user, mode, round)
			if err != nil {
				return err
			}
			return s.emit("CrowdWhy", w, func(out io.Writer) error { return s.whyScreen(out, w) })
		},
	}
	roundFlags(cmd, &mode, &round)
	return cmd
}

// roundFlags choose a round of a diary.
func roundFlags(cmd *cobra.Command, mode *string, round *int) {
	cmd.Flags().IntVar(round, "round", 0, "the round of that `number`")
	cmd.Flags().StringVar(mode, "mode", "", "the mode")
	cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(crowdModes(), cobra.ShellCompDirectiveNoFileComp))
}

// crowdWhy is the output document of crowd why.
type crowdWhy struct {
	Planned plan.Diary  `json:"planned"`
	Round   diary.Round `json:"round"`
	// Steps are those that ended, Flows those that were opened; their steps are in the plan.
	Steps []diary.Step `json:"steps"`
	Flows []diary.Flow `json:"flows"`
	// Events are those that touch the user, Scales those by which the user came or went.
	Events []diary.Event `json:"events,omitempty"`
	Scales []diary.Scale `json:"scales,omitempty"`
}

// whyScreen shows the planned steps, with what became of each.
func (s *session) whyScreen(w io.Writer, y crowdWhy) error {
	done, flows := map[diary.Where]diary.Step{}, map[diary.Where]string{}
	for _, step := range y.Steps {
		done[step.Where] = step
	}
	for _, f := range y.Flows {
		text := f.Protocol + " " + f.From.String() + " > " + f.To.String()
		if flows[f.Where] != "" {
			text = flows[f.Where] + ", " + text
		}
		flows[f.Where] = text
	}
	head := []string{"planned", "session", "does", "with", "began", "waited", "outcome"}
	cached := hasCaches(y.Planned)
	if cached {
		head = append(head, "cache")
	}
	if s.isWide() {
		head = append(head, "flows")
	}
	var rows [][]string
	happened := y.happened()
	happens := func(until time.Duration) { // with all steps that are planned before
		for ; len(happened) > 0 && happened[0].began <= until; happened = happened[1:] {
			row := happened[0].row
			if cached {
				row = append(row, "")
			}
			if s.isWide() {
				row = append(row, "")
			}
			rows = append(rows, row)
		}
	}
	for _, one := range y.Planned.Sessions {
		begins, _ := one.Begins()
		for i, step := range one.Steps {
			happens(one.Start + begins[i])
			at := diary.At(one, i)
			row := []string{clockTime(one.Start + begins[i]), sessionName(one), doing(step), strconv.Itoa(step.To), "-", "-", "not begun"}
			if flows[at] != "" {
				row[6] = outcomeWord("")
			}
			if d, is := done[at]; is {
				row[4], row[5], row[6] = clockTime(d.Begun), shortDuration(d.Ended-d.Planned), outcomeText(d)
			}
			if cached {
				row = append(row, cacheWords(step))
			}
			if s.isWide() {
				row = append(row, flows[at])
			}
			rows = append(rows, row)
		}
	}
	happens(1<<63 - 1)
	fields := [][2]string{{"user", fmt.Sprintf("%d, %s", y.Planned.User, y.Planned.Persona)},
		{"round", fmt.Sprintf("%d, mode %s, from %s", y.Round.Number, y.Round.Mode, y.Round.Began.Format(time.RFC3339))}}
	if len(rows) == 0 {
		return fieldTable(w, s.width(), append(fields, [2]string{"sessions", "none"})...)
	}
	if err := fieldTable(w, s.width(), fields...); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeTable(w, s.width(), head, rows)
}

// happening is what happened beside steps, as a row among them.
type happening struct {
	began time.Duration
	row   []string
}

// happened lists events and scales in the order of time.
func (y crowdWhy) happened() (all []happening) {
	for _, e := range y.Events {
		all = append(all, happening{e.Began, eventRow(e)})
	}
	for _, sc := range y.Scales {
		all = append(all, happening{sc.Began, []string{"-", "by hand", sc.String(), "", clockTime(sc.Began), "", "took " + shortDuration(sc.Took)}})
	}
	slices.SortStableFunc(all, func(a, b happening) int { return cmp.Compare(a.began, b.began) })
	return all
}

// eventRow is an event among steps.
func eventRow(e diary.Event) []string {
	row := []string{"-", whoseEvent(e), e.String(), "", clockTime(e.Began), "", "goes on"}
	if !e.ByHand {
		row[0] = clockTime(e.At)
	}
	if e.Ended > 0 {
		row[6] = "until " + clockTime(e.Ended)
	}
	return row
}

// outcomeText is what became of a step, and why.
func outcomeText(d diary.Step) string {
	text := outcomeWord(d.Outcome)
	if d.Why != "" {
		text += ": " + d.Why
	}
	return text
}

// outcomeWord is an outcome in words.
func outcomeWord(outcome string) string {
	switch outcome {
	case string(tally.GivenUp):
		return "gave up"
	case "":
		return "not ended"
	}
	return outcome
}

// doing is a step's action, and what is wrong with it.
func doing(step plan.Step) string {
	if step.Mistake != "" {
		return string(step.Do) + ", wrong " + step.Mistake
	}
	return string(step.Do)
}
