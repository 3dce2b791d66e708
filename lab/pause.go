package lab

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// ClockVariable is the environment variable that tells an agent how far its clock shall be
// ahead, as a Go duration: "1h", "-30m". It is for tests: an agent's safety must not
// depend on clocks.
const ClockVariable = "HEDDLE_CLOCK"

// What of a host stands still.
const (
	pausedAgent = "agent"
	pausedAll   = "all"
)

// Pause stops a host's agent, or all processes of the host (SIGSTOP), until
// Continue. If some do not stand still, all go on.
func (l *Lab) Pause(ctx context.Context, host string, all bool) error {
	return l.change(ctx, "pause", host, func(f *Faults) error {
		h, err := l.machine(host)
		if err != nil {
			return err
		}
		f.Paused[host] = pausedAgent
		if all {
			f.Paused[host] = pausedAll
		}
		// Recorded before it is done, so that ClearFaults also ends a pause that was
		// interrupted.
		if err := l.recordFaults(*f); err != nil {
			return err
		}
		err = h.stop(ctx, all)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if failed := h.resume(ctx); failed != nil {
			return errors.Join(err, failed)
		}
		delete(f.Paused, host)
		return errors.Join(err, l.recordFaults(*f))
	})
}

// Continue lets a paused host go on.
func (l *Lab) Continue(ctx context.Context, host string) error {
	return l.change(ctx, "continue", host, func(f *Faults) error {
		h, err := l.machine(host)
		if err != nil {
			return err
		}
		delete(f.Paused, host)
		return h.resume(ctx)
	})
}

// KillAgent kills a host's agent as Host.KillAgent does; a paused one is gone
// with its pause.
func (l *Lab) KillAgent(ctx context.Context, host string) error {
	return l.change(ctx, "kill agent of", host, func(f *Faults) error {
		h, err := l.machine(host)
		if err != nil {
			return err
		}
		if f.Paused[host] == pausedAgent {
			delete(f.Paused, host)
		}
		return h.KillAgent(ctx)
	})
}

// machine returns a host or router.
func (l *Lab) machine(name string) (*Host, error) {
	if err := l.checkPair(name, ""); err != nil {
		return nil, err
	}
	return l.Host(name)
}

// SetClock starts a host's agent again with a clock that is ahead of the
// machine's; 0 is the right time.
func (l *Lab) SetClock(ctx context.Context, host string, ahead time.Duration) error {
	return l.change(ctx, "set clock of", host, func(f *Faults) error {
		if err := l.setClock(ctx, host, ahead); err != nil {
			return err
		}
		if f.Paused[host] == pausedAgent { // the one that was paused is gone
			delete(f.Paused, host)
		}
		f.Clocks[host] = ahead
		if ahead == 0 {
			delete(f.Clocks, host)
		}
		return nil
	})
}

func (l *Lab) setClock(ctx context.Context, host string, ahead time.Duration) error {
	h, err := l.machine(host)
	if err != nil {
		return err
	}
	s, err := h.agentSpec()
	if err != nil {
		return err
	}
	p := s.program(agentProgram)
	if p == nil {
		return heddle.Errorf(heddle.LabFailed, "set clock of", host, "its agent was not started yet", "start its agent first")
	}
	p.Env = slices.DeleteFunc(p.Env, func(v string) bool { return strings.HasPrefix(v, ClockVariable+"=") })
	if ahead != 0 {
		p.Env = append(p.Env, ClockVariable+"="+ahead.String())
	}
	if err := h.KillAgent(ctx); err != nil {
		return err
	}
	return h.startAgent(ctx, *p)
}
