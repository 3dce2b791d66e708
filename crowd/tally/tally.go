// Package tally adds up how the people of a crowd fared: what became of their sessions and steps, and how long they
// waited.
package tally

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// Outcome is what became of a session or a step.
type Outcome string

// The outcomes.
const (
	Achieved   Outcome = "achieved"
	Failed     Outcome = "failed"     // the network or the service refused, or broke off
	GivenUp    Outcome = "givenUp"    // the person had waited too long
	Unfinished Outcome = "unfinished" // it was going on when the run ended
	Left       Outcome = "left"       // it was going on when the user, or who was called, was taken out of the crowd
)

// lateAfter is how late a session may begin without being counted as late.
const lateAfter = time.Second

// Tally is a crowd's. All methods may be called at once.
type Tally struct {
	mu         sync.Mutex
	behaviours map[string]*Sessions
	actions    map[string]*action
	calls      calls
	videos     videos
	failures   map[string]int64
	caches     map[string]Objects

	// how late the crowd was: with steps, with what goes by the clock, with frames on links
	lag, paced, frames *waits
}

// action has the steps of one action.
type action struct {
	Steps
	planned, service      *waits
	target                time.Duration
	satisfied, tolerating int64 // steps that took up to the target, and up to four times as long
}

// New returns a tally of a plan of which so many sessions of each behaviour are intended.
func New(intended map[string]int64) *Tally {
	t := &Tally{behaviours: map[string]*Sessions{}, actions: map[string]*action{}, calls: newCalls(), videos: newVideos(),
		lag: newWaits(), paced: newWaits(), frames: newWaits(), failures: map[string]int64{}, caches: map[string]Objects{}}
	for name, n := range intended {
		t.behaviours[name] = &Sessions{Intended: n}
	}
	return t
}

// Intend counts more sessions of a behaviour as intended, or fewer.
func (t *Tally) Intend(behaviour string, more int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.behaviours[behaviour]
	if s == nil {
		s = &Sessions{}
		t.behaviours[behaviour] = s
	}
	s.Intended += more
}

// Begin counts a session that begins, so much later than planned.
func (t *Tally) Begin(behaviour string, late time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.behaviours[behaviour]
	s.Started++
	if late > lateAfter {
		s.Late++
	}
}

// End counts a session that has ended.
func (t *Tally) End(behaviour string, o Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.behaviours[behaviour]
	switch o {
	case Achieved:
		s.Achieved++
	case Failed:
		s.Failed++
	case GivenUp:
		s.GivenUp++
	case Left:
		s.Left++
	default:
		s.Unfinished++
	}
}

// Step counts a step that has ended: how long after it was planned to begin, and how long after it did. Only steps
// that were achieved, or given up, count among the durations.
func (t *Tally) Step(name string, o Outcome, planned, service time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.action(name)
	a.Count++
	switch o {
	case Failed:
		a.Failed++
		return
	case Unfinished:
		a.Unfinished++
		return
	case GivenUp:
		a.GivenUp++
	case Achieved:
		if planned <= a.target {
			a.satisfied++
		} else if planned <= 4*a.target {
			a.tolerating++
		}
	}
	a.planned.add(planned)
	a.service.add(service)
}

// action is that of a name.
func (t *Tally) action(name string) *action {
	a := t.actions[name]
	if a == nil {
		a = &action{planned: newWaits(), service: newWaits(), target: Targets[name]}
		t.actions[name] = a
	}
	return a
}

// Lag counts by how much the crowd itself was late: from when somebody should have acted until the crowd saw to it.
func (t *Tally) Lag(d time.Duration) { t.lag.add(d) }

// Paced counts by how much the crowd was late with what goes by the clock: a packet of sound, a segment of a video.
func (t *Tally) Paced(d time.Duration) { t.paced.add(d) }

// Frame counts by how much the crowd was late with a frame on a user's link.
func (t *Tally) Frame(d time.Duration) { t.frames.add(d) }

// Failure counts why a step failed. Only so many reasons are kept.
func (t *Tally) Failure(why string) {
	const most = 100
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.failures[why]; known || len(t.failures) < most {
		t.failures[why]++
	}
}

// Result is what a tally amounts to. Nobody who counts waits until all of it has been worked out.
func (t *Tally) Result() Result {
	r, actions := t.counts()
	for name, a := range actions {
		steps := r.Actions[name]
		steps.Planned, steps.Service = a.planned.durations(), a.service.durations()
		r.Actions[name] = steps
	}
	r.Lag, r.Paced, r.Frames = t.lag.durations(), t.paced.durations(), t.frames.durations()
	r.Videos.Start = t.videos.start.durations()
	r.Videos.Count = r.Videos.Start.Count
	slices.SortFunc(r.Failures, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Why, b.Why))
	})
	return r
}

// counts is a result without durations, and the actions that have them.
func (t *Tally) counts() (Result, map[string]*action) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Result{Behaviours: map[string]Sessions{}, Actions: map[string]Steps{}, Calls: t.calls.result(), Videos: t.videos.result(), Failures: []Failure{}, Caches: maps.Clone(t.caches)}
	for name, s := range t.behaviours {
		r.Behaviours[name] = *s
	}
	for name, a := range t.actions {
		a.Apdex = a.apdex()
		r.Actions[name] = a.Steps
	}
	for why, n := range t.failures {
		r.Failures = append(r.Failures, Failure{Why: why, Count: n})
	}
	return r, maps.Clone(t.actions)
}
