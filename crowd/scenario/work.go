package scenario

import (
	"fmt"
	"math"
	"time"

	"github.com/heddle-network/heddle/crowd/draw"
)

// The bounds of work.
const (
	maxWork       = 500_000_000 // of a whole plan
	maxWorkOfUser = 1_000_000
)

// MaxVisits bounds the states, pauses included, of a session.
const MaxVisits = 4 * MaxSteps

// work is how much a plan of the scenario is expected to draw, for all its users and for one of each persona. For
// each behaviour of a user it counts 1, and 1 for each factor that is the user's own. For each session, as many as
// begin at the full rate for the whole length, it counts 1, and 1 for each state that the session visits, pauses
// included, and for each request of it: the step's own, those of more by their mean, and those of mistakes by their
// chance, 2 more for each that a cache may keep, and for each value that is drawn again for being out of its bounds. A session of a script counts 1, and for each
// step that it may have 1 and as many requests as it may make. Who may gather counts 1, and a session by
// the chance. Neither schedules nor the crowd's end
// make it less.
func (s Scenario) work() (all float64, ofOne map[string]float64) {
	own, session := map[string]float64{}, map[string]float64{}
	for _, name := range Sorted(s.Behaviours) {
		own[name], session[name] = s.Behaviours[name].work()
	}
	ofOne = map[string]float64{}
	for _, name := range Sorted(s.Personas) {
		p, one := s.Personas[name], 1.0
		for _, does := range Sorted(p.Does) {
			sessions := float64(float64(p.Does[does]) * time.Duration(s.Clock.Length).Hours())
			one += own[does] + float64(sessions*session[does])
		}
		for _, e := range s.Events {
			if e.Gather == "" || e.Persona != "" && e.Persona != name {
				continue
			}
			each := session[e.Gather]
			if _, has := p.Does[e.Gather]; !has {
				each += own[e.Gather]
			}
			one += 1 + float64(float64(e.Share)*each)
		}
		ofOne[name] = one
		all += float64(float64(p.Share)*float64(s.Users)) * one
	}
	return all, ofOne
}

// work is what a behaviour makes a user draw once, and for each session.
func (b Behaviour) work() (own, session float64) {
	if b.Script != "" {
		return 1, 1 + (1+RequestsAStep)*float64(b.Steps)
	}
	own, session = 1+b.Patience.own(), 1+b.Patience.again()
	visits := b.visits()
	for i, name := range Sorted(b.States) {
		s, each := b.States[name], 1.0
		for _, a := range []Amount{s.Sends.Amount, s.Receives.Amount, s.More.Count.Amount, s.More.Receives.Amount,
			s.Expect.Amount, s.Lasts.Amount, s.Every.Amount, s.Think.Amount} {
			own += a.own()
		}
		for _, a := range []Amount{s.Sends.Amount, s.Receives.Amount, s.More.Count.Amount, s.Expect.Amount,
			s.Lasts.Amount, s.Every.Amount, s.Think.Amount} {
			each += a.again()
		}
		if s.Do != "" {
			more := s.More.Count.mean()
			each += 1 + more + float64(more*s.More.Receives.again())
			if b.Cache != nil && s.Do == Cached { // what of it is got has two times
				each += 2 + 2*more
			}
		}
		for _, kind := range Sorted(s.Mistakes) {
			m := s.Mistakes[kind]
			wrong := 1 + s.Expect.again() + s.Sends.again() + m.Again.again()
			each += float64(float64(m.Chance) * wrong)
		}
		session += float64(visits[i] * each)
	}
	return own, session
}

// own is 1 if each user has a factor.
func (a Amount) own() float64 {
	if a.PerUser > 0 {
		return 1
	}
	return 0
}

// again is about how often a value is drawn again.
func (a Amount) again() float64 {
	if t, bounded := a.Law.(draw.Truncated); bounded {
		return t.Redraws()
	}
	return 0
}

// mean is about what is drawn, for users of all factors.
func (a Amount) mean() float64 {
	if a.Law == nil {
		return 0
	}
	law, low, high := a.Law, 0.0, math.Inf(1)
	if t, bounded := law.(draw.Truncated); bounded {
		law, low, high = t.Of, t.Min, t.Max
	}
	const parts = 200
	factor, sum, n := draw.LogNormal{Sigma: a.PerUser}.Mean(), 0.0, 0.0
	for i := range parts {
		if v := law.Quantile((float64(i) + 0.5) / parts); v >= low && v <= high {
			sum += min(max(float64(v*factor)-a.Minus, a.Least), a.Most)
			n++
		}
	}
	if n == 0 {
		return a.Most
	}
	return sum / n
}

// MeanSteps is how many steps a session of a state machine is expected to have, on a day without an end.
func (b Behaviour) MeanSteps() float64 {
	mean, visits := 0.0, b.visits()
	for i, name := range Sorted(b.States) {
		if b.States[name].Do != "" {
			mean += visits[i]
		}
	}
	return min(mean, MaxSteps)
}

// visits is how often a session is expected to be in each state, in the order of their names.
func (b Behaviour) visits() []float64 {
	type way struct {
		to     int
		chance float64
	}
	names := Sorted(b.States)
	number := map[string]int{}
	for i, name := range names {
		number[name] = i
	}
	ways := make([][]way, len(names))
	for i, name := range names {
		next, total := b.States[name].Next, 0.0
		for _, to := range Sorted(next) {
			total += float64(next[to])
		}
		for _, to := range Sorted(next) {
			if to != End && next[to] > 0 {
				ways[i] = append(ways[i], way{number[to], float64(next[to]) / total})
			}
		}
	}
	visits, now, after := make([]float64, len(names)), make([]float64, len(names)), make([]float64, len(names))
	now[number[b.Start]] = 1
	for range MaxVisits {
		left := 0.0
		for i, chance := range now {
			visits[i] += chance
			for _, w := range ways[i] {
				part := float64(chance * w.chance)
				after[w.to] += part
				left += part
			}
		}
		if left < 1e-6 {
			break
		}
		now, after = after, now
		clear(after)
	}
	return visits
}

// checkWork refuses a plan that would draw too much.
func (s *Scenario) checkWork() *problem {
	if p := s.checkKept(); p != nil {
		return p
	}
	all, ofOne := s.work()
	for _, name := range Sorted(ofOne) {
		if ofOne[name] > maxWorkOfUser {
			return wrong(fmt.Sprintf("one user would have up to %.0f states and requests drawn, and has at most %d; "+
				"give lower rates, shorter sessions, or a shorter length", ofOne[name], maxWorkOfUser),
				"personas", name, "does")
		}
	}
	if all > maxWork {
		return wrong(fmt.Sprintf("all of them would have up to %.0f states and requests drawn, and a plan has at most %d; "+
			"give fewer users, lower rates, or a shorter length", all, maxWork), "users")
	}
	return nil
}
