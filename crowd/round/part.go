package round

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/play"
	"github.com/heddle-network/heddle/crowd/stage"
	"github.com/heddle-network/heddle/crowd/tally"
)

// group are the parts of a crowd in a round; nil if it is not in parts.
type group struct{ *machine.Group }

// gather waits until all parts are there, and for their begin. With an error, nothing is left but the stage.
func (o Options) gather(ctx context.Context, s *stage.Stage) (*group, error) {
	if o.Part.IsAll() {
		return nil, nil
	}
	if late := time.Since(o.Meeting.Begin); late > 0 {
		return nil, tooLate(o.Part, s.Took, fmt.Sprintf("its begin had passed when all were attached, which took %s", s.Took.Round(10*time.Millisecond)))
	}
	all, err := s.Attend(ctx, o.Meeting, func(p machine.Part) { o.Progress("part " + p.String() + " has ended before its time") })
	if err != nil {
		return nil, err
	}
	g := &group{all}
	if err := g.meet(ctx, o, s); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// meet waits until all parts are there, and until the begin.
func (g *group) meet(ctx context.Context, o Options, s *stage.Stage) error {
	o.Progress(fmt.Sprintf("waiting for %s, until %s", heddle.Count(o.Part.Of-1, "other part"), o.Meeting.Begin.Local().Format(time.TimeOnly)))
	waits, cancel := context.WithDeadline(ctx, g.Epoch)
	defer cancel()
	err := g.Gather(waits)
	if err == nil {
		err = s.Meet(waits, g.Peers())
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && waits.Err() != nil {
		return tooLate(o.Part, s.Took, "at the begin, "+strings.TrimSuffix(err.Error(), ": "+context.DeadlineExceeded.Error()))
	}
	if err != nil {
		return err
	}
	o.Progress(fmt.Sprintf("all parts are there; they begin at %s", o.Meeting.Begin.Local().Format(time.TimeOnly)))
	<-waits.Done()
	if ctx.Err() == nil {
		err = g.Present()
	}
	return errors.Join(ctx.Err(), err)
}

// tooLate is the error of a part that could not begin in time. What it took says when it could.
func tooLate(p machine.Part, took time.Duration, why string) error {
	return machine.TooLate(p, why, max(10*time.Second, 2*took).Round(time.Second))
}

// options has the round begin with all others, and go on until they have ended.
func (g *group) options(ctx context.Context, o play.Options) play.Options {
	if g == nil {
		return o
	}
	o.Start = g.Epoch
	o.Finish = func() {
		if ctx.Err() != nil { // it was broken off, and has not been played
			return
		}
		waits, cancel := context.WithDeadline(ctx, g.Epoch.Add(o.Length+o.Grace+behind))
		defer cancel()
		g.Finish(waits)
	}
	return o
}

// behind is by how much the clock of another machine may be behind, so that its last sessions are waited for. No source: a guess.
const behind = 10 * time.Second

func (g *group) play(p *play.Player) {
	if g != nil {
		g.Play(p)
	}
}

// end leaves the other parts, and says what came of them.
func (g *group) end(r *Round, t *tally.Tally) error {
	if g == nil {
		return nil
	}
	r.Early = g.Early()
	clock := g.Clock()
	r.Clock = &clock
	g.Close()
	sheet, err := t.Sheet()
	r.Sheet = &sheet
	return err
}
