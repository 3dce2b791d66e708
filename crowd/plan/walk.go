package plan

import (
	"time"

	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// walk is a session that is being drawn.
type walk struct {
	*automaton
	plan    *Plan
	habits  habits
	stream  *draw.Stream
	session *Session
	targets map[string]int // of each service, once it is drawn
	pause   time.Duration  // since the last step
	at      time.Duration  // since the session's start
	limit   time.Duration  // since the crowd began; no step begins then, or later
}

// cut draws steps until the session or its time ends. It reports whether the session was cut off before, for
// having too many steps or states.
func (w *walk) cut() bool {
	w.session.Patience = w.time(w.patience, w.habits.patience)
	now := w.start
	for range scenario.MaxVisits {
		s := &w.states[now]
		if w.over() || s.Do != "" && !w.step(s, w.habits.states[now]) {
			break
		}
		w.wait(w.time(s.amounts[think], w.habits.states[now][think]))
		if now = s.next[w.stream.Pick(s.weights)]; now < 0 {
			return false
		}
	}
	return !w.over()
}

// over reports whether the time has passed.
func (w *walk) over() bool { return w.session.Start+w.at >= w.limit }

func (w *walk) wait(d time.Duration) { w.pause, w.at = w.pause+d, w.at+d }

func (w *walk) time(a scenario.Amount, factor float64) time.Duration {
	return time.Duration(a.Draw(w.stream, factor))
}

// step draws a step, and the mistakes before it. It reports false if there is no room for it.
func (w *walk) step(s *state, h [amounts]float64) bool {
	to := w.target(s.Do.Service())
	for _, m := range s.mistakes {
		if !w.stream.Chance(float64(m.Chance)) {
			continue
		}
		wrong := Step{Do: s.Do, To: to, Mistake: m.kind, Expect: w.time(s.amounts[expect], h[expect])}
		if m.kind == scenario.MistakePassword { // a name that is not there is not connected to
			wrong.Connections = max(1, s.Opens())
			wrong.Sends, wrong.Receives = s.amounts[sends].Draw(w.stream, h[sends]), []int64{scenario.Refusal}
		}
		if !w.add(wrong) {
			return false
		}
		w.wait(w.time(m.Again.Amount, 1))
	}
	step := Step{Do: s.Do, To: to, Connections: s.Opens(), Keep: s.Keep}
	step.Sends = s.amounts[sends].Draw(w.stream, h[sends])
	step.Receives = []int64{s.amounts[receives].Draw(w.stream, h[receives])}
	for range s.amounts[more].Draw(w.stream, h[more]) {
		step.Receives = append(step.Receives, s.amounts[moreReceives].Draw(w.stream, h[moreReceives]))
	}
	step.Every = w.time(s.amounts[every], h[every])
	step.Lasts = w.time(s.amounts[lasts], h[lasts])
	step.Expect = w.time(s.amounts[expect], h[expect])
	return w.add(step)
}

func (w *walk) add(s Step) bool {
	if len(w.session.Steps) >= scenario.MaxSteps || w.over() {
		return false
	}
	s.Pause, w.pause = w.pause, 0
	w.session.Steps = append(w.session.Steps, s)
	w.at += s.Takes()
	return true
}

// target draws where the session goes for a service: a site, or another user of the same group.
func (w *walk) target(service string) int {
	if to := w.targets[service]; to > 0 {
		return to
	}
	to := 0
	if group := int(w.plan.scenario.Services[service].Between); group > 0 {
		first := (w.session.User-1)/group*group + 1
		if to = first + w.stream.Below(group-1); to >= w.session.User {
			to++
		}
	} else {
		to = w.plan.popularity[service].Rank(w.stream) + 1
	}
	w.targets[service] = to
	return to
}
