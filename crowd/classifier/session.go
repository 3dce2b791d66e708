// Package classifier asks whether a crowd behaved as its scenario says. It compares the sessions that a diary has with
// sessions that are drawn afresh: a classifier that has seen half of both tries to tell the other half apart (a
// classifier two-sample test; Lopez-Paz and Oquab, Revisiting Classifier Two-Sample Tests, ICLR 2017).
package classifier

import (
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/tally"
)

// Resolution is how exactly times are compared: they are rounded down to it. A crowd may be so late itself.
const Resolution = tally.MaxLate

// Session is what a user did in one go, as far as the scenario decides it: how long an answer took is not in it.
type Session struct {
	User               int
	Persona, Behaviour string
	// Begun is when the first step began, since the crowd did.
	Begun time.Duration
	Steps []Step
	// Cut says that it ended before its last step: one failed, was given up, or was too late for the run.
	Cut bool
}

// Step is a step of a Session.
type Step struct {
	// Do is the action, with the kind of the mistake if it is one.
	Do      string
	Mistake string
	// Pause is the time since the step before had ended; since it had begun, if that step takes a time of its own without
	// a clock. It is 0 for the first step.
	Pause time.Duration
	// Lasted is how long a step went on that goes by the clock, such as a call; 0 for others.
	Lasted time.Duration
	// Flows that were opened for it, but for questions for names: whether somebody asks is the network's matter.
	Flows int
}

// happened is a planned session, and what came of it.
type happened struct {
	plan.Session
	steps []diary.Step
	flows []int // of each step
}

// measure takes from it what the scenario decides.
func (h happened) measure() Session {
	s := Session{User: h.User, Persona: h.Persona, Behaviour: h.Behaviour, Begun: h.steps[0].Begun.Truncate(Resolution)}
	for i, step := range h.steps {
		one := Step{Do: kind(step.Do, step.Mistake), Mistake: step.Mistake}
		if i > 0 {
			since := h.steps[i-1].Ended
			if before := h.Steps[i-1]; before.Every == 0 && before.Lasts > 0 { // its end is not in a diary
				since = h.steps[i-1].Begun
			}
			one.Pause = (step.Begun - since).Truncate(Resolution)
		}
		if step.Outcome == string(tally.Achieved) {
			one.Flows = h.flows[i]
			if h.Steps[i].Every > 0 {
				one.Lasted = (step.Ended - step.Begun).Truncate(Resolution)
			}
		}
		s.Steps = append(s.Steps, one)
	}
	last := len(h.steps) - 1
	s.Cut = last+1 < len(h.Steps) || h.steps[last].Outcome != string(tally.Achieved)
	return s
}

// kind is an action. A mistake is none of its examples.
func kind(do, mistake string) string {
	if mistake != "" {
		return do + " (" + mistake + ")"
	}
	return do
}
