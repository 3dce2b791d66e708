package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/script"
)

// readWhy reads the diary of a user in a round. Without a mode or a number, any will do.
func readWhy(ctx context.Context, file string, user int, mode string, number int) (w crowdWhy, err error) {
	found, inside, most := false, false, 0
	w.Steps, w.Flows = []diary.Step{}, []diary.Flow{}
	for l, err := range diary.Read(file) {
		switch {
		case err != nil:
			return w, err
		case l.Run != nil:
			most = l.Run.Users
			if p, err := machine.ParsePart(l.Run.Part); err == nil && user >= 1 && user <= most && !p.Has(user) {
				return w, heddle.Errorf(heddle.BadArgument, "read in diary of part "+p.String()+" user", strconv.Itoa(user),
					fmt.Sprintf("the user is of part %d/%d", p.Home(user), p.Of), "name the diary of that part")
			}
			if w.Planned, err = plannedDiary(ctx, *l.Run, user); err != nil {
				return w, err
			}
		case l.Round != nil:
			again := l.Round.Number == w.Round.Number && l.Round.Mode == w.Round.Mode // a run that went on
			if inside = l.Round.Is(mode, number) && (!found || again); inside {
				w.Round, found, w.Steps, w.Flows, w.Events, w.Scales = *l.Round, true, []diary.Step{}, []diary.Flow{}, nil, nil
			}
		case inside && l.Step != nil && l.Step.User == user:
			w.Steps = append(w.Steps, *l.Step)
		case inside && l.Flow != nil && l.Flow.User == user:
			w.Flows = append(w.Flows, *l.Flow)
		case inside && l.Event != nil && touches(*l.Event, w.Planned):
			w.event(*l.Event)
		case inside && l.Scale != nil && l.Scale.Touches(user):
			most = max(most, l.Scale.From, l.Scale.Now())
			w.Scales = append(w.Scales, *l.Scale)
		}
	}
	if err := checkUser(most, user); found && err != nil {
		return w, err
	}
	if !found {
		return w, heddle.Errorf(heddle.BadArgument, "read diary", file, "it has no such round", "give another --mode or --round, or none")
	}
	return w, w.fits(file)
}

// event adds an event that begins, or ends one.
func (y *crowdWhy) event(e diary.Event) {
	for i, begun := range y.Events {
		if e.Ended > 0 && begun.Began == e.Began && begun.Number == e.Number && begun.SameThing(e.Event) {
			y.Events[i] = e
			return
		}
	}
	y.Events = append(y.Events, e)
}

// fits refuses a plan that is not the one that was played: this heddle draws another one.
func (y crowdWhy) fits(file string) error {
	planned := map[diary.Where]string{}
	for _, one := range y.Planned.Sessions {
		for i, step := range one.Steps {
			planned[diary.At(one, i)] = string(step.Do)
		}
	}
	for _, s := range y.Steps {
		if do, is := planned[s.Where]; !is || do != s.Do {
			return diary.OtherPlan(file)
		}
	}
	return nil
}

// plannedDiary draws a user's diary anew. The user may have come later.
func plannedDiary(ctx context.Context, r diary.Run, user int) (d plan.Diary, err error) {
	read, err := r.Planned()
	if err != nil {
		return d, err
	}
	if err := checkUser(scenario.MaxUsers, user); err != nil {
		return d, err
	}
	author := script.NewAuthor(ctx)
	defer author.Close()
	return plan.New(read, author).User(ctx, user)
}

// checkUser refuses a user that a crowd of so many does not have.
func checkUser(users, user int) error {
	if user < 1 || user > users {
		return heddle.Errorf(heddle.BadArgument, "find user", strconv.Itoa(user), "the crowd has no such user", fmt.Sprintf("give 1 to %d", users))
	}
	return nil
}
