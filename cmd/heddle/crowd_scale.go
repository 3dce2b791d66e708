package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/live"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

func newCrowdScale(s *session) *cobra.Command {
	f := &crowdTeller{session: s}
	cmd := &cobra.Command{
		Use: "scale USERS", Args: withArgs("USERS"), ValidArgsFunction: s.completeFrom(noWords),
		Short: "Give a crowd more or fewer users while it plays",
		Long: `scale gives a 'heddle crowd run' that goes on another number of users. New ones are attached,
with their links, and do what they would do in a run of that size, from then on. If not all can be attached,
none is. Of fewer users, those with the highest numbers go: what they have under way ends, and does not
count, and they are detached. The command waits until that is done. When it is interrupted, the crowd
goes on with it.

Each round begins with the scenario's number. Reports and diaries have the change as made by
hand, for such a run cannot be repeated. A number that this machine cannot carry is refused (HDL-9001).

A run is told by its own user alone. If there are several, --pid says which one.`,
		Example: "  heddle crowd scale 200\n  heddle crowd scale 50 -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			users, err := strconv.Atoi(args[0])
			if err != nil || users < 1 || users > scenario.MaxUsers {
				return heddle.Errorf(heddle.BadArgument, "read argument", "USERS", fmt.Sprintf("%q is no number of users", heddle.Clip(args[0])),
					fmt.Sprintf("give 1 to %d", scenario.MaxUsers))
			}
			return f.scale(cmd.Context(), users)
		},
	}
	f.pidFlag(cmd, cmd.Flags())
	return cmd
}

// crowdScaled is the output document of crowd scale.
type crowdScaled struct {
	PID   int    `json:"pid"`
	Crowd string `json:"crowd"`
	diary.Scale
}

// scale tells a run, and waits until it is done.
func (f *crowdTeller) scale(ctx context.Context, users int) error {
	run, err := f.run()
	if err != nil {
		return err
	}
	end := f.showProgress(fmt.Sprintf("crowd %s of process %d is to have %d users", run.Crowd, run.PID, users))
	told, err := live.Tell(ctx, run.PID, event.Command{Scale: users})
	end()
	if err != nil {
		return err
	}
	if told.Scale == nil {
		return heddle.Errorf(heddle.CrowdFailed, "scale crowd of process", strconv.Itoa(run.PID), "it does not say what it has done", "use the version of heddle that plays the crowd")
	}
	text := fmt.Sprintf("%s: %s, in %s", run.Crowd, told.Scale, shortDuration(told.Scale.Took))
	if told.Scale.From == told.Scale.To {
		text = fmt.Sprintf("%s has %d users already", run.Crowd, users)
	}
	return f.emitDone("CrowdScale", crowdScaled{run.PID, run.Crowd, *told.Scale}, "%s", text)
}

// scale gives the crowd another number of users, if this machine can carry them.
func (p *crowdPlay) scale(ctx context.Context, c event.Command) (event.Done, error) {
	p.scaling.Lock() // one after the other: each begins with what the one before has made
	defer p.scaling.Unlock()
	var now live.Run
	p.show(func(r *live.Run) { now = *r })
	if ctx.Err() != nil || now.Now == nil {
		return event.Done{}, event.NotPlaying()
	}
	if c.Scale > p.present {
		if err := p.carries(ctx, c.Scale, now.Now.Mode); err != nil {
			return event.Done{}, err
		}
	}
	done, err := p.control.Do(c)
	if done.Scale != nil {
		p.present = done.Scale.Now()
	}
	return done, err
}

// carries refuses more users than this machine can carry. What those who are there have taken counts as free, for it is in
// what all need. Many are too many before it is drawn what they do, which takes long.
func (p *crowdPlay) carries(ctx context.Context, users int, mode string) error {
	read, err := p.read.Resize(users)
	if err != nil {
		return err
	}
	there, err := p.read.Resize(p.present)
	if err != nil {
		return err
	}
	limits := machineLimits()
	limits.Memory += plan.New(there, nil).Idle().Memory()
	idle := plan.New(read, nil).Idle()
	idle.Captured = p.flags.captured(users)
	if err := tooMany(idle.Needs(limits), mode, users); err != nil {
		return err
	}
	drawn, err := p.drawPlan(ctx, read, "", plan.Here{})
	if err != nil {
		return err
	}
	drawn.Captured = p.flags.captured(users)
	return tooMany(drawn.Needs(limits), mode, users)
}

// tooMany is the error of needs that this machine does not meet in a mode.
func tooMany(needs []plan.Need, mode string, users int) error {
	causes, remedies, _ := plan.Lacking(needs, []string{mode})
	if causes == nil {
		return nil
	}
	return heddle.Errorf(heddle.CrowdTooLarge, "scale crowd to users", strconv.Itoa(users), strings.Join(causes, "; "),
		strings.Join(append(remedies, "give a smaller number"), "; or "))
}
