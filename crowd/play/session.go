package play

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/tally"
)

// session is a session that is being played.
type session struct {
	*Player
	plan.Session
	*part
	// number is the present step's, from 0; planned is when it was to begin.
	number  int
	planned time.Time
	// kept are the connections that stay open until the session ends, by service.
	kept map[string][]net.Conn
	// found are the addresses of services that were asked for.
	found map[string]netip.Addr
}

func (p *Player) session(one *part, s plan.Session) *session {
	return &session{Player: p, Session: s, part: one, kept: map[string][]net.Conn{}, found: map[string]netip.Addr{}}
}

// run does the steps one after the other. A step that fails, or that the person is tired of waiting for, ends the
// session.
func (s *session) run(ctx context.Context) {
	outcome := tally.Achieved
	defer func() { s.close(outcome) }()
	end := s.start.Add(s.Start)
	s.Tally.Begin(s.Behaviour, time.Since(end))
	for i, step := range s.Steps {
		s.number, s.planned = i, end.Add(step.Pause)
		if !sleepUntil(ctx, s.planned) {
			outcome = tally.Unfinished
			break
		}
		begun := time.Now()
		s.Tally.Lag(begun.Sub(s.planned))
		var err error
		outcome, err = s.step(ctx, step)
		end = time.Now()
		s.Tally.Step(counted(step), outcome, end.Sub(s.planned), end.Sub(begun))
		why := ""
		if outcome == tally.Failed {
			why = reason(err)
			s.Tally.Failure(string(step.Do) + ": " + why)
		}
		s.Diary.Step(diary.Step{Where: diary.At(s.Session, i), Do: string(step.Do), Mistake: string(step.Mistake), Planned: s.planned.Sub(s.start),
			Begun: begun.Sub(s.start), Ended: end.Sub(s.start), Outcome: string(outcome), Why: why})
		if outcome != tally.Achieved {
			break
		}
		if step.Cache != nil {
			s.Tally.Page(s.Behaviour, tally.Objects(step.Objects()))
		}
		if step.Every == 0 && step.Lasts > 0 && sleepUntil(ctx, s.ends(step)) {
			end = time.Now()
		}
	}
	if outcome == tally.Unfinished && s.left.Load() {
		outcome = tally.Left
	}
	s.Tally.End(s.Behaviour, outcome)
}

// counted is the name under which a step is counted. A mistake is no example of its action.
func counted(step plan.Step) string {
	if step.Mistake != "" {
		return "mistake." + string(step.Mistake)
	}
	return string(step.Do)
}

// close closes the connections that were kept.
func (s *session) close(outcome tally.Outcome) {
	for _, all := range s.kept {
		for _, c := range all {
			if outcome == tally.Achieved {
				c.Close()
			} else {
				drop(c)
			}
		}
	}
}

// step does one step, and says what became of it.
func (s *session) step(ctx context.Context, step plan.Step) (tally.Outcome, error) {
	all := ctx
	if step.Every == 0 { // in a step that repeats, patience is for each answer, and call and watch see to it
		var cancel func()
		ctx, cancel = s.patient(ctx, s.planned)
		defer cancel()
	}
	err := s.do(ctx, step)
	switch {
	case err == nil:
		return tally.Achieved, nil
	case all.Err() != nil, errors.Is(err, errEnded):
		return tally.Unfinished, err
	case ctx.Err() != nil, errors.Is(err, errTired), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return tally.GivenUp, err
	}
	return tally.Failed, err
}

// errTired ends a step that somebody has waited for long enough.
var errTired = errors.New("the person gave up")

// errEnded ends a step that could not begin before the run's end.
var errEnded = errors.New("the run has ended")

// patient is a context that ends when the person is tired of waiting for something that was wanted at a time.
func (s *session) patient(ctx context.Context, since time.Time) (context.Context, context.CancelFunc) {
	if s.Patience == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, since.Add(s.Patience))
}

func (s *session) do(ctx context.Context, step plan.Step) error {
	switch {
	case step.Mistake == scenario.MistakeName:
		return s.mistype(ctx, step.Do)
	case step.Do.Service() == "voice" && step.Every > 0:
		return s.call(ctx, step)
	case step.Every > 0:
		return s.watch(ctx, step)
	}
	return s.exchange(ctx, step)
}

// ends is when a step that lasts ends: with the plan, at the latest.
func (s *session) ends(step plan.Step) time.Time {
	end, last := s.planned.Add(step.Lasts), s.start.Add(s.Length)
	if last.Before(end) {
		return last
	}
	return end
}

// await waits for a time at which the clock has something sent, and counts by how much the crowd is late.
func (s *session) await(ctx context.Context, at time.Time) bool {
	if !sleepUntil(ctx, at) {
		return false
	}
	s.Tally.Paced(time.Since(at))
	return true
}

// opened records a flow of the present step, and returns what records its end.
func (s *session) opened(do, protocol string, from, to netip.AddrPort) (end func()) {
	return s.Diary.Open(diary.Flow{Where: diary.At(s.Session, s.number), Do: do, Protocol: protocol,
		From: unmapped(from), To: unmapped(to)})
}

// unmapped is an IPv4 address as such, also where the net package has it in an IPv6 one.
func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// address is where a seat is reached. Half of all sessions use IPv6, if the network has both.
func (s *session) address(of Seat) netip.Addr { return of.Addrs[(s.User+s.Number)%len(of.Addrs)] }

// reason is an error without what differs each time, such as addresses and ports.
func reason(err error) string {
	var kernel syscall.Errno
	if errors.As(err, &kernel) {
		return kernel.Error()
	}
	parts := strings.Split(err.Error(), ": ")
	return parts[len(parts)-1]
}
