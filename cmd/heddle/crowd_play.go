package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/rig"
	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// playHere plays on a network of this host.
func (s *session) playHere(ctx context.Context, read scenario.Scenario, n heddle.Network, out *report.Report, f runFlags, file *os.File) error {
	d := &diary.Recorder{}
	if file != nil {
		d.To = file
	}
	first := max(1, f.player)
	for number := first; number < first+f.rounds; number++ {
		if out.Has(n.Mode, number) {
			continue
		}
		if f.rounds > 1 {
			s.note("round %d of %d", number, f.rounds)
		}
		played, err := round.Play(ctx, round.Options{Scenario: read, Agent: s.client(), Network: n, Diary: d, Number: number,
			Free:     func() int64 { return machineLimits().Memory },
			Progress: func(step string) { s.note("%s", step) }})
		if err = errors.Join(err, d.Err(), s.addRound(out, number, played, f.out)); err != nil {
			return err
		}
	}
	return nil
}

// addRound adds a round that was played, if there is one. The report's file, if it has one, is written each time: a
// command that is killed leaves what it has.
func (s *session) addRound(out *report.Report, number int, played round.Round, file string) error {
	if played.Users == 0 {
		return nil
	}
	out.Rounds = append(out.Rounds, report.Round{Number: number, Round: played})
	if file == "" {
		return nil
	}
	until := *out
	until.Partial = "the command was killed"
	return writeReport(file, until)
}

// playModes plays in a lab, each mode once in each round.
func (s *session) playModes(ctx context.Context, read scenario.Scenario, out *report.Report, f runFlags, file *os.File) error {
	r, err := rig.New(ctx, rig.Options{Name: fmt.Sprintf("crowd-%d", os.Getpid()), Modes: out.Modes, Users: read.Users, Text: read.Text,
		Seed: read.Seed, Diary: file, Notes: func(line string) { s.note("%s", line) }})
	if err != nil {
		return err
	}
	err = s.playRounds(ctx, r, out, f)
	return errors.Join(err, r.Close(context.WithoutCancel(ctx)))
}

// playRounds plays the rounds, each with another mode first. A mode that this kernel does not have is left out.
func (s *session) playRounds(ctx context.Context, r *rig.Rig, out *report.Report, f runFlags) error {
	for number := 1; number <= f.rounds; number++ {
		for i := range out.Modes {
			mode := out.Modes[(i+number-1)%len(out.Modes)]
			if out.LeftOut[mode] != "" || out.Has(mode, number) {
				continue
			}
			s.note("round %d of %d: mode %s", number, f.rounds, mode)
			played, err := r.Play(ctx, mode, number)
			var known *heddle.Error
			if number == 1 && errors.As(err, &known) && known.Code == heddle.NotOnKernel {
				out.LeftOut[mode] = known.Error()
				s.note("left out mode %s: %s", mode, known.Error())
				continue
			}
			if err = errors.Join(err, ctx.Err(), s.addRound(out, number, played, f.out)); err != nil {
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

// checkModes refuses modes in which no crowd can play, and those that are not there once.
func checkModes(modes []string) error {
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
	}
	return nil
}
