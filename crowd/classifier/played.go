package classifier

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// Played is a round that was played to its end.
type Played struct {
	Run      diary.Run
	Round    diary.Round
	Scenario scenario.Scenario
	Sessions []Session
	// Lag is how late steps began, at most in 99 of a hundred.
	Lag     time.Duration
	network network
	author  plan.Author
}

// Read reads a round of a diary's file: the first one of a mode or a number; without them, any will do. It refuses a round
// that was broken off or scaled, and a diary of another plan than this heddle draws. The author is of behaviours that are scripts, also in what
// is drawn of it later.
func Read(ctx context.Context, file, mode string, number int, author plan.Author) (p Played, err error) {
	p.author = author
	found, inside := false, false
	var now lines
	for l, err := range diary.Read(file) {
		switch {
		case err != nil:
			return p, err
		case l.Run != nil && l.Run.Part != "":
			return p, heddle.Errorf(heddle.BadArgument, "classify diary", file, "it is of part "+l.Run.Part+" of a crowd, and what the others did is in other diaries",
				"play the scenario on one machine")
		case l.Run != nil:
			p.Run = *l.Run
			if p.Scenario, err = l.Run.Planned(); err != nil {
				return p, err
			}
		case l.Round != nil:
			again := l.Round.Number == p.Round.Number && l.Round.Mode == p.Round.Mode // a run that went on
			if inside = l.Round.Is(mode, number) && (!found || again); inside {
				p.Round, found, now = *l.Round, true, newLines()
			}
		case inside:
			now.add(l)
		}
	}
	if !found {
		return p, heddle.Errorf(heddle.BadArgument, "read diary", file, "it has no such round", "give another --mode or --round, or none")
	}
	p.Lag, p.network = now.lag(), newNetwork(now)
	return p, p.take(ctx, file, now)
}

// lines are those of one round.
type lines struct {
	steps map[who][]diary.Step
	flows map[flow]int
	count int // of steps
	// scaled: the crowd was given another number of users.
	scaled bool
}

// who is a session in a round.
type who struct {
	user, session int
	behaviour     string
}

type flow struct {
	diary.Where
	do string
}

func newLines() lines { return lines{steps: map[who][]diary.Step{}, flows: map[flow]int{}} }

func (l *lines) add(one diary.Line) {
	switch {
	case one.Step != nil:
		of := who{one.Step.User, one.Step.Session, one.Step.Behaviour}
		l.steps[of] = append(l.steps[of], *one.Step)
		l.count++
	case one.Flow != nil:
		l.flows[flow{one.Flow.Where, one.Flow.Do}]++
	case one.Scale != nil:
		l.scaled = true
	}
}

func (l lines) lag() time.Duration {
	var all []time.Duration
	for _, steps := range l.steps {
		for _, s := range steps {
			all = append(all, s.Begun-s.Planned)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

// take puts the lines beside the plan, which is drawn anew.
func (p *Played) take(ctx context.Context, file string, all lines) error {
	if all.scaled {
		return heddle.Errorf(heddle.BadArgument, "read diary", file, fmt.Sprintf("in round %d in mode %s, users came or went by hand", p.Round.Number, p.Round.Mode),
			"give another --mode or --round, or play again")
	}
	drawn, planned, missing, known := plan.New(p.Scenario, p.author), 0, 0, 0
	for number := 1; number <= p.Scenario.Users; number++ {
		d, err := drawn.User(ctx, number)
		if err != nil {
			return err
		}
		for _, s := range d.Sessions {
			planned++
			h := happened{Session: s, steps: all.steps[who{s.User, s.Number, s.Behaviour}]}
			if len(h.steps) == 0 {
				missing++
				continue
			}
			known += len(h.steps)
			for i, step := range h.steps {
				if i >= len(s.Steps) || step.Where != diary.At(s, i) || step.Do != string(s.Steps[i].Do) {
					return diary.OtherPlan(file)
				}
				h.flows = append(h.flows, all.flows[flow{step.Where, step.Do}])
			}
			p.Sessions = append(p.Sessions, h.measure())
		}
	}
	switch {
	case known < all.count:
		return diary.OtherPlan(file)
	case missing > 0:
		return heddle.Errorf(heddle.BadArgument, "read diary", file, fmt.Sprintf("round %d in mode %s was not played to its end: %d of %d sessions did not begin",
			p.Round.Number, p.Round.Mode, missing, planned), "give another --mode or --round, or play again")
	}
	return nil
}
