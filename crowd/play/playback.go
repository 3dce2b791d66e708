package play

import "time"

// playback is a video that is watched while it arrives, in segments that each last so long. It begins with the first
// segment, and stands still when the next one is not there in time.
type playback struct {
	each     time.Duration
	segments int
	start    time.Duration // until the first picture
	stalls   int
	stalled  time.Duration
}

// arrive takes a segment that is there so long after the person wanted to watch.
func (p *playback) arrive(at time.Duration) {
	if p.segments == 0 {
		p.start = at
	} else if needed := p.start + time.Duration(p.segments)*p.each + p.stalled; at > needed {
		p.stalls++
		p.stalled += at - needed
	}
	p.segments++
}
