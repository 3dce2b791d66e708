// Package diary records what the people of a crowd do, while they do it: each step, and the flows of its packets. It
// is the truth beside which captured packets are held.
package diary

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// Line is one line of a diary, in JSON; one of its fields is there. The first line is a Run. A Round comes before what
// happened in it.
type Line struct {
	Run   *Run   `json:"run,omitempty"`
	Round *Round `json:"round,omitempty"`
	Step  *Step  `json:"step,omitempty"`
	Flow  *Flow  `json:"flow,omitempty"`
	End   *End   `json:"end,omitempty"`
	// Event is one that begins, or that ends if it has Ended.
	Event *Event `json:"event,omitempty"`
	// Scale is one that is done.
	Scale *Scale `json:"scale,omitempty"`
}

// Run is what was planned: the scenario as it was written, and what the command changed of it.
type Run struct {
	Crowd    string `json:"crowd"`
	Seed     uint64 `json:"seed"`
	Users    int    `json:"users"`
	SHA256   string `json:"sha256"` // of the plan
	Scenario string `json:"scenario"`
	// Part is the part of the crowd whose users are in it, such as 1/3; "" is all of it.
	Part string `json:"part,omitempty"`
}

// Round is one mode in one round, from 1. Began is when the crowd began to play.
type Round struct {
	Number int       `json:"number"`
	Mode   string    `json:"mode"`
	Began  time.Time `json:"began"`
}

// Is reports whether the round is one of a mode, with a number. Without one of them, any will do.
func (r Round) Is(mode string, number int) bool {
	return (mode == "" || mode == r.Mode) && (number == 0 || number == r.Number)
}

// Where is a step in the plan.
type Where struct {
	User      int    `json:"user"` // from 1
	Persona   string `json:"persona"`
	Behaviour string `json:"behaviour"`
	Session   int    `json:"session"` // of the user's of that behaviour, from 1
	Step      int    `json:"step"`    // from 1
}

// At is the place of a session's step, from 0.
func At(s plan.Session, step int) Where {
	return Where{s.User, s.Persona, s.Behaviour, s.Number, step + 1}
}

// Step is a step that has ended. Times are since the round began, in nanoseconds.
type Step struct {
	Where
	Do      string        `json:"do"`
	Mistake string        `json:"mistake,omitempty"`
	Planned time.Duration `json:"planned"` // when it was to begin, after what had happened before
	Begun   time.Duration `json:"begun"`
	Ended   time.Duration `json:"ended"`
	Outcome string        `json:"outcome"` // tally's
	Why     string        `json:"why,omitempty"`
}

// Flow is one that the crowd opens, written at that moment: From has opened it, for a step. Packets go both ways.
type Flow struct {
	ID int64 `json:"id"` // in this round
	Where
	Do       string         `json:"do"`       // the action; dns.query is the question for a name
	Protocol string         `json:"protocol"` // tcp or udp
	From     netip.AddrPort `json:"from"`
	To       netip.AddrPort `json:"to"`
	At       time.Time      `json:"at"`
}

// End is when the crowd closed a flow. The kernel may go on for a moment.
type End struct {
	Flow int64     `json:"flow"`
	At   time.Time `json:"at"`
}

// Event is one that has begun: of the scenario, or a fault that was given by hand. Times are since the round began, in
// nanoseconds.
type Event struct {
	scenario.Event
	// Number is that of the scenario's event, from 1; ByHand is a fault that is none of them.
	Number int           `json:"number,omitempty"`
	ByHand bool          `json:"byHand,omitempty"`
	Began  time.Duration `json:"began"`
	Ended  time.Duration `json:"ended,omitempty"` // 0: it goes on
}

// Scale is that a crowd was given another number of users by hand. Times are since the round began, and durations, in
// nanoseconds.
type Scale struct {
	From  int           `json:"from"` // users
	To    int           `json:"to"`
	Began time.Duration `json:"began"`
	// Took is how long it took until all new ones were attached, or all others detached.
	Took time.Duration `json:"took"`
	// Failed says what went wrong; "" if nothing did. If there were to be more users, there are as many as before; if fewer,
	// some are not detached yet.
	Failed string `json:"failed,omitempty"`
}

// Now is how many users there are after it.
func (s Scale) Now() int {
	if s.Failed != "" && s.To > s.From {
		return s.From
	}
	return s.To
}

// Touches reports whether a user comes or goes.
func (s Scale) Touches(user int) bool {
	return (user <= s.From) != (user <= s.Now())
}

// String says it in words.
func (s Scale) String() string { return fmt.Sprintf("%d users, then %d", s.From, s.Now()) }

// Recorder writes a diary. The zero value, and nil, write nothing. All methods may be called at once.
type Recorder struct {
	To io.Writer

	mu     sync.Mutex
	failed error
	flows  int64
}

// Begin begins a round. Flows are counted anew.
func (r *Recorder) Begin(round Round) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.flows = 0
	r.mu.Unlock()
	r.write(Line{Round: &round})
}

// Write writes a line as it is.
func (r *Recorder) Write(l Line) { r.write(l) }

// Step records a step.
func (r *Recorder) Step(s Step) { r.write(Line{Step: &s}) }

// Event records that an event begins, or has ended.
func (r *Recorder) Event(e Event) { r.write(Line{Event: &e}) }

// Scale records that the crowd has another number of users.
func (r *Recorder) Scale(s Scale) { r.write(Line{Scale: &s}) }

// Open records a flow that is opened now, and returns what records its end.
func (r *Recorder) Open(f Flow) (end func()) {
	if r == nil || r.To == nil {
		return func() {}
	}
	r.mu.Lock()
	r.flows++
	f.ID, f.At = r.flows, time.Now()
	r.writeLocked(Line{Flow: &f})
	r.mu.Unlock()
	return sync.OnceFunc(func() { r.write(Line{End: &End{f.ID, time.Now()}}) })
}

func (r *Recorder) write(l Line) {
	if r == nil || r.To == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeLocked(l)
}

func (r *Recorder) writeLocked(l Line) {
	text, err := json.Marshal(l)
	if err == nil && r.failed == nil {
		_, err = r.To.Write(append(text, '\n')) // whole lines, also where the program is killed
	}
	if err != nil && r.failed == nil {
		r.failed = err
	}
}

// Err is why the diary is not whole; nil if it is.
func (r *Recorder) Err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}
