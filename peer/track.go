package peer

import "time"

// controlSize is the size of a control probe, in bytes. It passes any path.
const controlSize = 100

// The pace of probing.
const (
	steadyEvery = 2 * time.Second        // between probes of one peer when all is well, but at least
	steadyShare = time.Second            // this time for each peer
	growEvery   = time.Minute            // between trials of a larger size
	minGap      = 100 * time.Millisecond // between two tries
	firstGap    = 250 * time.Millisecond // while the round trip is not known
	maxGap      = time.Second
	// minControls is how many control probes must be answered before an unanswered size counts as
	// too large. On a path that loses packets, both kinds get lost.
	minControls = 6
	// maxUnanswered is how many tries without any answer make a peer silent.
	maxUnanswered = 5
	// maxTries ends a round on a path that loses too many packets to find its MTU.
	maxTries = 24
)

// track is what is known about the path to one peer, and what to probe next. It does nothing by
// itself: the clock is an argument, and probes are returned.
type track struct {
	// minMTU is the least possible path MTU, maxMTU the largest, in bytes.
	minMTU, maxMTU int
	path           Path
	// every is the time between probes when all is well.
	every time.Duration
	// phase, from 0 to 1, is the position of the first steady probe within that time. So peers that
	// were added together are probed one after the other.
	phase float64
	// due is when step must be called.
	due time.Time
	// asked is set while a steady probe is unanswered.
	asked  bool
	growAt time.Time
	round  *round
	// cached is the path MTU that the kernel last had for the peer's address.
	cached int
}

// round probes several sizes at once, with a control probe, and repeats this until it is clear
// which sizes pass. lo passes or is the minimum, hi does not pass.
type round struct {
	start    time.Time
	lo, hi   int
	sizes    []int
	best     int // the largest that was answered
	controls int // how many control probes were answered
	tries    int
}

func newTrack(now time.Time, floor, most int, phase float64) *track {
	t := &track{minMTU: floor, maxMTU: max(floor, most), every: steadyEvery, phase: phase, path: Path{State: Unknown, Since: now}}
	t.startRound(now, t.minMTU, t.maxMTU+1, t.maxMTU)
	return t
}

// startRound starts a round at once.
func (t *track) startRound(now time.Time, lo, hi int, sizes ...int) {
	t.round, t.asked, t.due = &round{start: now, lo: lo, hi: hi, sizes: sizes}, false, now
}

// recheck checks at once whether the path still carries the known size.
func (t *track) recheck(now time.Time) {
	if t.round == nil {
		t.startRound(now, t.minMTU, t.size()+1, t.size())
	}
}

// size is the packet size that is assumed to pass.
func (t *track) size() int {
	if t.path.MTU == 0 {
		return t.maxMTU
	}
	return t.path.MTU
}

func (t *track) gap() time.Duration {
	if t.path.RTT == 0 {
		return firstGap
	}
	return min(maxGap, max(minGap, 4*t.path.RTT))
}

// step returns the sizes to probe now, and sets when it must be called next.
func (t *track) step(now time.Time) []int {
	if t.round != nil {
		if t.round.tries > 0 {
			t.evaluate(now)
		}
		if t.round != nil {
			return t.tryRound(now)
		}
		if t.due.After(now) {
			return nil
		}
	}
	switch {
	case t.path.State == Silent:
		t.due = now.Add(t.every)
		return []int{controlSize}
	case t.asked, t.path.MTU == 0:
		t.recheck(now)
		return t.tryRound(now)
	}
	t.asked, t.due = true, now.Add(t.gap())
	if t.path.MTU < t.maxMTU && !now.Before(t.growAt) {
		t.growAt = now.Add(max(growEvery, t.every))
		return []int{t.path.MTU + 1, t.path.MTU}
	}
	return []int{t.path.MTU}
}

// tryRound returns the sizes of one try of the round: those above the largest that was
// answered, and a control.
func (t *track) tryRound(now time.Time) (sizes []int) {
	t.round.tries++
	t.due = now.Add(t.gap())
	for _, s := range t.round.sizes {
		if s > t.round.best {
			sizes = append(sizes, s)
		}
	}
	return append(sizes, controlSize)
}

// evaluate ends the round if it is clear which sizes pass.
func (t *track) evaluate(now time.Time) {
	r := t.round
	switch {
	case r.best == r.sizes[len(r.sizes)-1]:
		t.narrow(now, r.best, r.hi)
	case r.controls >= minControls:
		hi := r.hi
		for _, s := range r.sizes {
			if s > r.best {
				hi = s
				break
			}
		}
		t.narrow(now, max(r.lo, r.best), hi)
	case r.controls == 0 && r.best == 0 && r.tries >= maxUnanswered:
		t.setPath(now, Silent, t.path.MTU)
		t.endRound(now)
	case r.tries >= maxTries:
		t.setPath(now, Up, max(t.path.MTU, r.best))
		t.endRound(now)
	}
}

// narrow continues the search between lo, which passes, and hi, which does not.
func (t *track) narrow(now time.Time, lo, hi int) {
	passed := t.round.best > 0 || t.round.lo > t.minMTU
	if hi-lo <= 1 {
		t.setPath(now, Up, lo)
		t.endRound(now)
		return
	}
	if passed {
		t.setPath(now, Up, lo)
	}
	t.startRound(now, lo, hi, sizesBetween(lo, hi)...)
}

// endRound returns to the steady pace.
func (t *track) endRound(now time.Time) {
	t.round, t.asked, t.due = nil, false, now.Add(time.Duration(t.phase*float64(t.every)))
	t.phase = 1
}

func (t *track) setPath(now time.Time, s State, mtu int) {
	if t.path.State != s {
		t.path.State, t.path.Since = s, now
	}
	if t.path.MTU != mtu {
		t.path.MTU, t.growAt = mtu, now.Add(max(growEvery, t.every))
	}
}

// onReply handles the answer to a probe of that size, sent at that time.
func (t *track) onReply(now, sent time.Time, size int) {
	t.path.RTT = smooth(t.path.RTT, now.Sub(sent))
	r := t.round
	switch {
	case r != nil && sent.Before(r.start): // the probe was sent before the round
	case r != nil:
		if size == controlSize {
			r.controls++
		}
		if size > controlSize {
			r.best = max(r.best, size)
		}
		if r.best == r.sizes[len(r.sizes)-1] {
			t.due = now
		}
	case t.path.State == Silent:
		t.startRound(now, t.minMTU, t.size()+1, t.size())
	case size > t.path.MTU && size <= t.maxMTU:
		t.search(now, size)
	case size == t.path.MTU && t.asked:
		t.asked, t.due = false, now.Add(t.every)
	}
}

// search looks for a larger size above one that passes.
func (t *track) search(now time.Time, lo int) {
	if lo >= t.maxMTU {
		t.setPath(now, Up, t.maxMTU)
		t.endRound(now)
		return
	}
	t.startRound(now, lo, t.maxMTU+1, append(sizesBetween(lo, t.maxMTU), t.maxMTU)...)
}

// onRouterLimit handles a router's message that packets of at most mtu bytes pass it.
func (t *track) onRouterLimit(now time.Time, mtu int) {
	mtu = max(t.minMTU, mtu)
	switch {
	case mtu >= t.size() && t.round == nil, t.round != nil && mtu+1 >= t.round.hi:
		return // the message is about a trial of a larger size
	case t.path.MTU == 0 || mtu < t.path.MTU:
		t.path.MTU = mtu
		t.startRound(now, t.minMTU, mtu+1, mtu)
	case mtu > t.round.lo:
		t.startRound(now, t.round.lo, mtu+1, mtu)
	}
}

// setMaxMTU sets the MTU of the interfaces at both ends.
func (t *track) setMaxMTU(now time.Time, most int) {
	most = max(t.minMTU, most)
	if most == t.maxMTU {
		return
	}
	t.maxMTU = most
	switch {
	case t.path.MTU == 0:
		t.startRound(now, t.minMTU, most+1, most)
	case most <= t.path.MTU:
		t.path.MTU = most
		t.startRound(now, t.minMTU, most+1, most)
	case t.path.State == Up:
		t.search(now, t.path.MTU)
	}
}

// smooth averages round trips as TCP does (RFC 6298).
func smooth(old, one time.Duration) time.Duration {
	one = max(one, time.Microsecond)
	if old == 0 {
		return one
	}
	return old + (one-old)/8
}
