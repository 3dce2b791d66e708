package play

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
)

// ahead is how many segments a player has at most that are not shown yet. No source: a guess.
const ahead = 3

// playback is a video that is shown while it arrives, in segments that each last so long. It begins with the first
// segment, and stands still when the next one is not there in time.
type playback struct {
	each     time.Duration
	segments int
	start    time.Duration // until the first picture
	stalls   int
	stalled  time.Duration
}

// needed is when the next segment must be there.
func (p *playback) needed() time.Duration {
	return p.start + time.Duration(p.segments)*p.each + p.stalled
}

// wanted is when the player asks for the next segment: when it has fewer than it may have.
func (p *playback) wanted() time.Duration {
	if p.segments == 0 {
		return 0
	}
	return p.needed() - ahead*p.each
}

// arrive takes a segment that is there so long after the person wanted to watch.
func (p *playback) arrive(at time.Duration) {
	if p.segments == 0 {
		p.start = at
	} else if needed := p.needed(); at > needed {
		p.stalls++
		p.stalled += at - needed
	}
	p.segments++
}

// end is for a video that got no more segments until then: it may be standing still.
func (p *playback) end(at time.Duration) {
	if needed := p.needed(); p.segments > 0 && at > needed {
		p.stalls++
		p.stalled += at - needed
	}
}

// watch asks for the segments of a video, and counts how it played.
func (s *session) watch(ctx context.Context, step plan.Step) error {
	v := playback{each: step.Every}
	err := s.withConnections(ctx, step, func(c net.Conn, next *atomic.Int64) error {
		if next.Add(1) > 1 {
			return nil // one connection is enough
		}
		return s.stream(ctx, step, c, &v)
	})
	switch {
	case v.segments > 0:
		if err != nil {
			v.end(time.Since(s.planned))
		}
		s.Tally.Video(v.start, v.stalls, v.stalled, time.Duration(v.segments)*v.each+v.stalled)
	case err != nil && ctx.Err() == nil && !errors.Is(err, errEnded):
		s.Tally.NoVideo()
	}
	return err
}

// stream gets segments until those that are there last until the video's end, and then waits for the end.
func (s *session) stream(ctx context.Context, step plan.Step, c net.Conn, v *playback) error {
	end := s.ends(step)
	for s.planned.Add(time.Duration(v.segments) * v.each).Before(end) {
		at := s.planned.Add(v.wanted())
		if !at.Before(end) {
			break
		}
		if now := time.Now(); at.Before(now) { // the segment before was late, not the crowd
			at = now
		}
		if !s.await(ctx, at) {
			return ctx.Err()
		}
		waits, cancel := s.patient(ctx, s.planned.Add(v.needed()))
		err := over(waits, c, func() error {
			return s.request(c, step, plan.Asked{Page: s.number, Object: v.segments}, step.Receives[0])
		})
		cancel()
		if err != nil {
			return err
		}
		v.arrive(time.Since(s.planned))
	}
	if v.segments == 0 {
		return errEnded
	}
	if !sleepUntil(ctx, end) {
		return ctx.Err()
	}
	return nil
}
