package tally

import "time"

// Result is how a crowd fared.
type Result struct {
	Behaviours map[string]Sessions `json:"behaviours"`
	Actions    map[string]Steps    `json:"actions"`
	Calls      Calls               `json:"calls"`
	Videos     Videos              `json:"videos"`
	// Caches are those of the behaviours that have one.
	Caches map[string]Objects `json:"caches,omitempty"`
	// Lag is the crowd's own: from when somebody should have acted until the crowd saw to it.
	Lag Durations `json:"lag"`
	// Paced is the same for what goes by the clock: packets of sound, segments of videos. Frames is that of frames on
	// users' links, of which there are many more.
	Paced  Durations `json:"paced"`
	Frames Durations `json:"frames"`
	// Failures are why steps failed, the most frequent one first.
	Failures []Failure `json:"failures"`
}

// MaxLate is how late a crowd may be, in one of a hundred steps, before its figures say more about itself than about the
// network.
const MaxLate = 10 * time.Millisecond

// Late is how late the crowd itself was, at most in 99 of a hundred: with steps, with what goes by the clock, or with frames
// on links, whichever is most.
func (r Result) Late() time.Duration { return max(r.Lag.P99, r.Paced.P99, r.Frames.P99) }

// Sessions are those of all behaviours.
func (r Result) Sessions() (sum Sessions) {
	for _, s := range r.Behaviours {
		sum = sum.Plus(s)
	}
	return sum
}

// Sessions are those of one behaviour.
type Sessions struct {
	Intended   int64 `json:"intended"`
	Started    int64 `json:"started"`
	Late       int64 `json:"late"` // began more than a second late
	Achieved   int64 `json:"achieved"`
	Failed     int64 `json:"failed"`
	GivenUp    int64 `json:"givenUp"`
	Unfinished int64 `json:"unfinished"`
	// Left are those that went on when a user was taken out of the crowd. They say nothing about the network.
	Left int64 `json:"left,omitempty"`
}

// Share is that of the intended sessions whose steps were all done; those that were left do not count. It is not ok if there
// are none.
func (s Sessions) Share() (share float64, ok bool) {
	counted := s.Intended - s.Left
	return float64(s.Achieved) / float64(max(1, counted)), counted > 0
}

// GoOn is how many have begun and not ended.
func (s Sessions) GoOn() int64 {
	return s.Started - s.Achieved - s.Failed - s.GivenUp - s.Unfinished - s.Left
}

// Plus adds sessions.
func (s Sessions) Plus(o Sessions) Sessions {
	return Sessions{s.Intended + o.Intended, s.Started + o.Started, s.Late + o.Late, s.Achieved + o.Achieved,
		s.Failed + o.Failed, s.GivenUp + o.GivenUp, s.Unfinished + o.Unfinished, s.Left + o.Left}
}

// Steps are those of one action.
type Steps struct {
	Count      int64 `json:"count"`
	Failed     int64 `json:"failed"`
	GivenUp    int64 `json:"givenUp"`
	Unfinished int64 `json:"unfinished"`
	// Planned is how long steps took from when they were planned to begin, Service from when they did.
	Planned Durations `json:"fromPlan"`
	Service Durations `json:"service"`
	// Apdex is how satisfied people are, 0 to 1: those who waited up to the action's target, and half of those who
	// waited up to four times as long. All who failed or gave up are not. It is -1 for actions without a target.
	Apdex float64 `json:"apdex"`
}

// Durations are quantiles, in nanoseconds.
type Durations struct {
	Count int64         `json:"count"`
	P50   time.Duration `json:"p50"`
	P90   time.Duration `json:"p90"`
	P99   time.Duration `json:"p99"`
	Max   time.Duration `json:"max"`
}

// Failure is why steps failed.
type Failure struct {
	Why   string `json:"why"`
	Count int64  `json:"count"`
}

// Targets are how long people wait for an action and are satisfied (Apdex 1.1, its T). No source: a guess.
var Targets = map[string]time.Duration{
	"web.page": time.Second, "search.query": time.Second, "mail.login": 2 * time.Second, "mail.check": 2 * time.Second,
	"mail.fetch": 2 * time.Second, "mail.send": 2 * time.Second, "chat.connect": time.Second,
	"chat.message": 500 * time.Millisecond, "shell.login": 2 * time.Second, "shell.key": 100 * time.Millisecond,
	"files.get": 5 * time.Second, "files.put": 5 * time.Second, "print.job": 10 * time.Second,
}

// apdex is the score of an action.
func (a *action) apdex() float64 {
	rated := a.Count - a.Unfinished
	if a.target == 0 || rated == 0 {
		return -1
	}
	return (float64(a.satisfied) + float64(a.tolerating)/2) / float64(rated)
}
