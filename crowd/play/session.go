package play

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/tally"
)

// session is one that is going on.
type session struct {
	*Player
	plan.Session
	seat Seat
	// kept are the connections that stay open until the session ends, by service.
	kept map[string][]net.Conn
	// found are the addresses of services that were asked for.
	found map[string]netip.Addr
}

func (p *Player) session(s plan.Session) *session {
	return &session{Player: p, Session: s, seat: p.Users[s.User-1], kept: map[string][]net.Conn{}, found: map[string]netip.Addr{}}
}

// run does the steps one after the other. A step that fails, or that the person is tired of waiting for, ends the
// session.
func (s *session) run(ctx context.Context) {
	defer s.close()
	outcome := tally.Achieved
	end := s.begun.Add(s.Start)
	s.Tally.Begin(s.Behaviour, time.Since(end))
	for _, step := range s.Steps {
		planned := end.Add(step.Pause)
		if !sleepUntil(ctx, planned) {
			outcome = tally.Unfinished
			break
		}
		begun := time.Now()
		s.Tally.Lag(begun.Sub(planned))
		var err error
		outcome, err = s.step(ctx, step, planned)
		end = time.Now()
		s.Tally.Step(string(step.Do), outcome, end.Sub(planned), end.Sub(begun))
		if outcome == tally.Failed {
			s.Tally.Failure(string(step.Do) + ": " + reason(err))
		}
		if outcome != tally.Achieved {
			break
		}
	}
	s.Tally.End(s.Behaviour, outcome)
}

func (s *session) close() {
	for _, all := range s.kept {
		for _, c := range all {
			c.Close()
		}
	}
}

// step does one step, and says what became of it.
func (s *session) step(ctx context.Context, step plan.Step, planned time.Time) (tally.Outcome, error) {
	all := ctx
	if s.Patience > 0 && step.Lasts == 0 {
		var cancel func()
		ctx, cancel = context.WithDeadline(ctx, planned.Add(s.Patience))
		defer cancel()
	}
	err := s.do(ctx, step, planned)
	switch {
	case err == nil:
		return tally.Achieved, nil
	case all.Err() != nil:
		return tally.Unfinished, err
	case ctx.Err() != nil, errors.Is(err, errTired), errors.Is(err, os.ErrDeadlineExceeded):
		return tally.GivenUp, err
	}
	return tally.Failed, err
}

// errTired ends a step that somebody has waited for long enough.
var errTired = errors.New("the person gave up")

func (s *session) do(ctx context.Context, step plan.Step, planned time.Time) error {
	switch {
	case step.Mistake == scenario.MistakeName:
		return s.mistype(ctx, step.Do)
	case step.Do.Service() == "voice" && step.Every > 0:
		return s.call(ctx, step, planned)
	case step.Every > 0:
		return s.play(ctx, step, planned)
	}
	return s.exchange(ctx, step)
}

// ends is when a step that lasts ends: with the plan, at the latest.
func (s *session) ends(step plan.Step, planned time.Time) time.Time {
	end, last := planned.Add(step.Lasts), s.begun.Add(s.Length)
	if last.Before(end) {
		return last
	}
	return end
}

// address is where a seat is reached. Half of a user's sessions use IPv6, if the network has both.
func (s *session) address(of Seat) netip.Addr { return of.Addrs[(s.User+s.Number)%len(of.Addrs)] }

// reason is an error without what differs each time, such as addresses and ports.
func reason(err error) string {
	var in *net.OpError
	if errors.As(err, &in) {
		return in.Op + ": " + in.Err.Error()
	}
	parts := strings.Split(err.Error(), ": ")
	return parts[len(parts)-1]
}
