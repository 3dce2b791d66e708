package lab

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// ClockVariable is the environment variable that says how far an agent's clock is ahead, as
// a Go duration: "1h", "-30m". It is for tests: an agent's safety must not depend on clocks.
const ClockVariable = "HEDDLE_CLOCK"

// What is stopped in a host.
const (
	pausedAgent = "agent"
	pausedAll   = "all"
)

// Pause stops a host's agent, or all processes of the host (SIGSTOP), until Continue. If some
// do not stop, it lets all continue.
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
		// The pause is recorded first, so that ClearFaults also ends one that was interrupted.
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

// Continue lets a paused host run again.
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

// KillAgent kills a host's agent as Host.KillAgent does. If the agent was paused, the pause
// ends, too.
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

// SetClock restarts a host's agent with a clock that is ahead of the machine's by that much.
func (l *Lab) SetClock(ctx context.Context, host string, ahead time.Duration) error {
	return l.change(ctx, "set clock of", host, func(f *Faults) error {
		if err := l.setClock(ctx, host, ahead); err != nil {
			return err
		}
		if f.Paused[host] == pausedAgent { // the paused agent is gone
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
		return heddle.Errorf(heddle.LabFailed, "set clock of", host,
			"its agent was not started yet", "start its agent first")
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
