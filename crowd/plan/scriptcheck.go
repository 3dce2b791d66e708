package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// check says what is wrong with the answer of a behaviour's script; "" if nothing is. Steps have the rules and bounds of states.
func (a Answer) check(b scenario.Behaviour, services map[string]scenario.Service) string {
	if a.Patience < 0 || a.Patience > scenario.MaxTime {
		return fmt.Sprintf("patience is %d; give nanoseconds, up to those of 24h", a.Patience)
	}
	if len(a.Steps) > int(b.Steps) {
		return fmt.Sprintf("it has %d steps, and the scenario says %d at most", len(a.Steps), b.Steps)
	}
	requests := 0
	for i, s := range a.Steps {
		requests += max(1, len(s.Receives))
		why := s.check(b.Actions)
		if most := scenario.RequestsAStep * int(b.Steps); why == "" && requests > most {
			why = fmt.Sprintf("with it the session has more than %d requests, %d for each step that the scenario says", most, scenario.RequestsAStep)
		}
		if by := services[s.Do.Service()]; why == "" && by.Streams() && s.Sends > scenario.MaxHead {
			why = fmt.Sprintf("over HTTP/%d a request has 4096 bytes at most", by.HTTP)
		}
		if why == "" {
			_, why = services[s.Do.Service()].Unlike(s.Do, s.Sends, slices.Max(append([]int64{0}, s.Receives...)), s.opens(), s.Keep)
		}
		if why != "" {
			return fmt.Sprintf("step %d: %s", i+1, why)
		}
	}
	return ""
}

func (a AnsweredStep) check(actions []scenario.Action) string {
	for _, t := range []struct {
		name string
		time.Duration
	}{{"pause", a.Pause}, {"every", a.Every}, {"lasts", a.Lasts}, {"expect", a.Expect}} {
		if t.Duration < 0 || t.Duration > scenario.MaxTime {
			return fmt.Sprintf("%s is %d; give nanoseconds, up to those of 24h", t.name, t.Duration)
		}
	}
	for _, bytes := range append([]int64{a.Sends}, a.Receives...) {
		if bytes < 0 || bytes > scenario.MaxSize {
			return fmt.Sprintf("it sends or receives %d; give bytes, up to 16 GiB", bytes)
		}
	}
	switch {
	case !slices.Contains(actions, a.Do):
		return fmt.Sprintf("%q is none of its actions in the scenario", heddle.Clip(string(a.Do)))
	case a.opens() < 0 || a.opens() > scenario.MaxConnections:
		return fmt.Sprintf("it opens %d connections; give 0 to %d", a.opens(), scenario.MaxConnections)
	case (a.Lasts > 0) == (a.Expect > 0):
		return "it either lasts, or is expected to take a time; give one of lasts and expect"
	case a.Every > 0 && (a.Every < scenario.MinEvery || a.Lasts == 0):
		return "what is repeated by the clock is so every 1000000 ns at least, and lasts"
	case len(a.Receives) > 1+scenario.MaxMore || a.Every > 0 && len(a.Receives) > 1:
		return fmt.Sprintf("it receives %d answers; give up to %d, and one with every", len(a.Receives), 1+scenario.MaxMore)
	case a.Keep && a.opens() == 0:
		return "it opens no connection that it could keep"
	}
	return a.checkMistake()
}

func (a AnsweredStep) checkMistake() string {
	switch {
	case a.Mistake == "":
	case a.Mistake != scenario.MistakeName && a.Mistake != scenario.MistakePassword:
		return fmt.Sprintf("%q is no mistake; choose from %s, %s", heddle.Clip(a.Mistake), scenario.MistakeName, scenario.MistakePassword)
	case a.Lasts > 0 || a.Keep:
		return "a mistake fails at once; take out lasts and keep"
	}
	return ""
}
