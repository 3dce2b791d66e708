package play

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/service"
)

// exchange makes the requests of a step, over connections of its own or one that was kept. Connections share the
// requests: each makes the next one as soon as it has its answer.
func (s *session) exchange(ctx context.Context, step plan.Step) error {
	return s.withConnections(ctx, step, func(c net.Conn, next *atomic.Int64) error {
		for {
			i := next.Add(1) - 1
			if i >= int64(len(step.Receives)) {
				return nil
			}
			if err := service.Ask(c, service.Request{Size: step.Sends, Answer: step.Receives[i]}); err != nil {
				return err
			}
		}
	})
}

// play makes a request each time the clock says, and takes what comes for a video.
func (s *session) play(ctx context.Context, step plan.Step, planned time.Time) error {
	return s.withConnections(ctx, step, func(c net.Conn, next *atomic.Int64) error {
		if next.Add(1) > 1 {
			return nil // one connection is enough
		}
		end := s.ends(step, planned)
		v := playback{each: step.Every}
		for at := planned; at.Before(end); at = at.Add(step.Every) {
			if !sleepUntil(ctx, at) {
				return ctx.Err()
			}
			if s.Patience > 0 {
				c.SetDeadline(at.Add(s.Patience + step.Every))
			}
			if err := service.Ask(c, service.Request{Size: step.Sends, Answer: step.Receives[0]}); err != nil {
				return err
			}
			v.arrive(time.Since(planned))
		}
		if v.segments > 0 {
			s.Tally.Video(v.start, v.stalls, v.stalled, time.Duration(v.segments)*step.Every+v.stalled)
		}
		return nil
	})
}

// withConnections runs a function for each connection of a step, all at once; they count requests together. The first
// error ends the others.
func (s *session) withConnections(ctx context.Context, step plan.Step, do func(net.Conn, *atomic.Int64) error) error {
	name := step.Do.Service()
	old := s.kept[name]
	var next atomic.Int64
	if len(old) > 0 && step.Connections == 0 {
		return s.over(ctx, old[0], &next, do)
	}
	at, err := s.find(ctx, name)
	if err != nil {
		return err
	}
	to := netip.AddrPortFrom(at, service.Port)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opened := make([]net.Conn, max(1, step.Connections))
	errs := make([]error, len(opened))
	var running sync.WaitGroup
	for i := range opened {
		running.Go(func() {
			c, err := s.seat.Namespace.Dial(ctx, to)
			if err == nil {
				opened[i] = c
				err = s.over(ctx, c, &next, do)
			}
			if errs[i] = err; err != nil {
				cancel()
			}
		})
	}
	running.Wait()
	err = first(errs)
	for _, c := range opened {
		if c != nil && step.Keep && err == nil {
			s.kept[name] = append(s.kept[name], c)
		} else if c != nil {
			c.Close()
		}
	}
	return err
}

// over uses a connection as long as the context lasts.
func (s *session) over(ctx context.Context, c net.Conn, next *atomic.Int64, do func(net.Conn, *atomic.Int64) error) error {
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	err := do(c, next)
	if stop() {
		c.SetDeadline(time.Time{})
	}
	return err
}

// first is the error that came before the others were ended for it.
func first(errs []error) (one error) {
	for _, err := range errs {
		if err != nil && (one == nil || isEnd(one)) {
			one = err
		}
	}
	return one
}

// isEnd reports whether an error only says that something was ended.
func isEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, os.ErrDeadlineExceeded)
}
