// Package plan draws what the people of a scenario do, before it happens: who begins what when, in which steps,
// how large and how long. It is pure. The same scenario and seed give the same plan on every machine.
package plan

import (
	"time"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// Session is what one user does in one go. All times are in nanoseconds.
type Session struct {
	User      int    `json:"user"` // from 1
	Persona   string `json:"persona"`
	Behaviour string `json:"behaviour"`
	// Number counts the user's sessions of the behaviour, from 1.
	Number int `json:"session"`
	// Event is that of the scenario, from 1, for which the user begins the session; 0 if it is for none.
	Event int `json:"event,omitempty"`
	// Start is the time since the crowd began.
	Start time.Duration `json:"start"`
	// Patience is how long the user waits for a step; 0 is for ever.
	Patience time.Duration `json:"patience,omitempty"`
	Steps    []Step        `json:"steps"`
}

// Step is one action of a session, after a pause. It begins when the step before has ended; how long that takes is
// for the network to say, and expected here.
type Step struct {
	Pause time.Duration   `json:"pause,omitempty"`
	Do    scenario.Action `json:"do"`
	// To is the site of the service, by popularity, or the other user; from 1. The number of a user may be
	// above that of the crowd's last one: then the service stands in.
	To int `json:"to"`
	// Mistake is what the user does wrong; the step fails. A wrong name is not connected to, and a wrong
	// password is answered once.
	Mistake string `json:"mistake,omitempty"`
	// Connections that the step opens; Keep leaves them open until the session ends.
	Connections int  `json:"connections,omitempty"`
	Keep        bool `json:"keep,omitempty"`
	// Sends is the size of each request in bytes, Receives that of each answer. With Every there is one size:
	// request and answer are repeated by the clock for as long as the step lasts.
	// What a cache knows not to have changed has an answer of 0 bytes.
	Sends    int64         `json:"sends,omitempty"`
	Receives []int64       `json:"receives,omitempty"`
	Every    time.Duration `json:"every,omitempty"`
	Lasts    time.Duration `json:"lasts,omitempty"`
	Expect   time.Duration `json:"expect,omitempty"`
	// Cache says what the user's browser has of the page; nil if no cache has to do with it.
	Cache *Cache `json:"cache,omitempty"`
}

// Takes is how long the step is expected to take.
func (s Step) Takes() time.Duration { return s.Lasts + s.Expect } // it has one of them

// Requests is how many requests the step makes.
func (s Step) Requests() int64 {
	if s.Every > 0 {
		return max(1, int64(s.Lasts/s.Every))
	}
	return int64(len(s.Receives))
}

// Bytes is how much payload the step sends and receives.
func (s Step) Bytes() (sent, received int64) {
	for _, size := range s.Receives {
		received += size
	}
	if s.Every > 0 {
		received *= s.Requests()
	}
	return s.Sends * s.Requests(), received
}

// Begins lists when each step is expected to begin, since the session's start, and when the last one ends.
func (s Session) Begins() (all []time.Duration, end time.Duration) {
	for _, step := range s.Steps {
		end += step.Pause
		all = append(all, end)
		end += step.Takes()
	}
	return all, end
}
