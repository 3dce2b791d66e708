package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/engine"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/live"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/rig"
	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/stage"
	"github.com/heddle-network/heddle/mode"
)

// crowdPlay is a crowd's run that goes on.
type crowdPlay struct {
	*session
	flags runFlags
	read  scenario.Scenario
	out   report.Report
	diary *os.File // nil if there is none
	// capture is nil if there is none.
	capture *os.File
	// engine makes each user's container; nil if users are namespaces.
	engine *engine.Engine
	// control has the round that is being played do what it is told.
	control *event.Control
	// meeting is what all parts of the crowd have in common, if it is in parts.
	meeting machine.Meeting
	// shown is what others see of the run; nil if they cannot.
	shown *live.Server

	scaling sync.Mutex
	present int // users of the round that is being played
}

// say tells the user, and whoever looks on.
func (p *crowdPlay) say(format string, args ...any) {
	p.note(format, args...)
	p.show(func(r *live.Run) { r.Stage = fmt.Sprintf(format, args...) })
}

func (p *crowdPlay) show(change func(*live.Run)) {
	if p.shown != nil {
		p.shown.Change(change)
	}
}

// do does what others tell the run.
func (p *crowdPlay) do(ctx context.Context, c event.Command) (event.Done, error) {
	if c.Scale != 0 {
		return p.scale(ctx, c)
	}
	if err := p.elsewhere(c); err != nil {
		return event.Done{}, err
	}
	return p.control.Do(c)
}

// here plays on a network of this host.
func (p *crowdPlay) here(ctx context.Context, n heddle.Network) (err error) {
	if p.engine != nil {
		if err := p.engine.Open(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.engine.Close(context.WithoutCancel(ctx))) }()
	}
	for number := 1; number <= p.flags.rounds; number++ {
		if p.out.Has(n.Mode, number) {
			continue
		}
		if p.flags.rounds > 1 {
			p.say("round %d of %d", number, p.flags.rounds)
		}
		if err := p.play(ctx, number, n, []stage.Host{{Agent: p.client()}}); err != nil {
			return err
		}
	}
	return nil
}

// play plays a round, and adds what it was like.
func (p *crowdPlay) play(ctx context.Context, number int, n heddle.Network, hosts []stage.Host) error {
	p.scaling.Lock()
	p.present = p.read.Users
	p.scaling.Unlock()
	d := &diary.Recorder{}
	if p.diary != nil {
		d.To = p.diary
	}
	o := round.Options{Scenario: p.read, Hosts: hosts, Network: n, Engine: p.engine, Diary: d, Number: number, Most: p.flags.most,
		Free:     func() int64 { return machineLimits().Memory },
		Progress: func(step string) { p.say("%s", step) }, Live: func(l round.Live) { p.show(func(r *live.Run) { r.Now = &l }) }, Control: p.control}
	if p.out.Part != nil {
		o.Part, o.Meeting = p.out.Part.Part, p.meeting
	}
	if p.capture != nil {
		o.Capture = p.capture
	}
	played, err := round.Play(ctx, o)
	failed := d.Err()
	if failed != nil {
		failed = heddle.Wrap(heddle.BadArgument, "write diary", p.flags.diary, failed, "make room there")
	}
	return errors.Join(failed, err, p.add(number, played))
}

// add adds a round that was played, if there is one. The report's file, if it has one, is written each time: a
// command that is killed leaves what it has.
func (p *crowdPlay) add(number int, played round.Round) error {
	p.show(func(r *live.Run) { r.Now = nil })
	if played.Users == 0 {
		return nil
	}
	p.show(func(r *live.Run) { r.Played++ })
	p.out.Rounds = append(p.out.Rounds, report.Round{Number: number, Round: played})
	if p.flags.out == "" {
		return nil
	}
	until := p.out
	until.Partial = "the run has not ended"
	return writeReport(p.flags.out, until)
}

// modes plays in a lab, each mode once in each round.
func (p *crowdPlay) modes(ctx context.Context) error {
	r, err := rig.New(ctx, rig.Options{Name: fmt.Sprintf("crowd-%d", os.Getpid()), Modes: p.flags.modes, Users: p.read.Users, Hosts: p.flags.hosts, Ahead: round.Ahead})
	if err != nil {
		return err
	}
	err = p.rounds(ctx, r)
	return errors.Join(err, r.Close(context.WithoutCancel(ctx)))
}

// rounds plays the rounds, each with another mode first. A mode that this kernel does not have is left out.
func (p *crowdPlay) rounds(ctx context.Context, r *rig.Rig) error {
	for number := 1; number <= p.flags.rounds; number++ {
		for i := range p.flags.modes {
			mode := p.flags.modes[(i+number-1)%len(p.flags.modes)]
			if p.out.LeftOut[mode] != "" || p.out.Has(mode, number) {
				continue
			}
			p.say("round %d of %d: mode %s", number, p.flags.rounds, mode)
			err := r.Play(ctx, mode, func(ctx context.Context, n heddle.Network, hosts []stage.Host) error {
				return p.play(ctx, number, n, hosts)
			})
			var known *heddle.Error
			if len(p.out.Of(mode)) == 0 && errors.As(err, &known) && known.Code == heddle.NotOnKernel {
				p.out.LeftOut[mode] = known.Error()
				p.say("left out mode %s: %s", mode, known.Error())
				continue
			}
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
		}
	}
	return nil
}

// crowdModes are the modes in which any number of users get addresses of their own.
func crowdModes() []string {
	return slices.DeleteFunc(slices.Clone(modeNames()), func(m string) bool { return m == "host" || m == "direct" })
}

// spanningModes are those whose networks span hosts.
func spanningModes() (all []string) {
	for _, m := range mode.All() {
		if _, spans := m.(heddle.Reacher); spans {
			all = append(all, m.Name())
		}
	}
	return all
}

// checkModes refuses modes in which no crowd can play on so many hosts, and those that are not there once.
func checkModes(modes []string, hosts int) error {
	if len(modes) == 0 {
		return heddle.Errorf(heddle.BadArgument, "read flag", "--modes", "it is empty", "choose from "+heddle.List(crowdModes()))
	}
	for i, m := range modes {
		if slices.Contains(modes[:i], m) {
			return heddle.Errorf(heddle.BadArgument, "read flag", "--modes", m+" is there twice", "name it once, and give --rounds")
		}
		if !slices.Contains(crowdModes(), m) {
			return heddle.Errorf(heddle.BadArgument, "play crowd in mode", m, "its users would have no addresses of their own, or a NIC each",
				"choose from "+heddle.List(crowdModes()))
		}
		if hosts > 1 && !slices.Contains(spanningModes(), m) {
			return heddle.Errorf(heddle.BadArgument, "play crowd in mode", m, "each host has a network of its own then, and people on two hosts do not reach each other",
				"choose from "+heddle.List(spanningModes())+", or leave --hosts out")
		}
	}
	return nil
}
