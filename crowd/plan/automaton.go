package plan

import (
	"strings"

	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// automaton is a behaviour whose states are numbered, in the order of their names.
type automaton struct {
	name     string
	start    int
	patience scenario.Amount
	states   []state
}

type state struct {
	scenario.State
	name    string
	next    []int // end is -1
	weights []float64
	amounts [amounts]scenario.Amount
	// mistakes are those of the scenario, in the order of their kinds.
	mistakes []mistake
}

type mistake struct {
	kind string
	scenario.Mistake
}

// The amounts of a state, each with a factor of its own for every user.
const (
	sends = iota
	receives
	more
	moreReceives
	expect
	lasts
	every
	think
	amounts
)

func newAutomaton(name string, b scenario.Behaviour) *automaton {
	a := &automaton{name: name, patience: b.Patience.Amount}
	number := map[string]int{scenario.End: -1}
	for i, state := range scenario.Sorted(b.States) {
		number[state] = i
	}
	a.start = number[b.Start]
	for _, name := range scenario.Sorted(b.States) {
		s := b.States[name]
		one := state{State: s, name: name, amounts: [amounts]scenario.Amount{
			sends:        s.Sends.Amount,
			receives:     s.Receives.Amount,
			more:         s.More.Count.Amount,
			moreReceives: s.More.Receives.Amount,
			expect:       s.Expect.Amount,
			lasts:        s.Lasts.Amount,
			every:        s.Every.Amount,
			think:        s.Think.Amount,
		}}
		for _, next := range scenario.Sorted(s.Next) {
			one.next = append(one.next, number[next])
			one.weights = append(one.weights, float64(s.Next[next]))
		}
		for _, kind := range scenario.Sorted(s.Mistakes) {
			one.mistakes = append(one.mistakes, mistake{kind, s.Mistakes[kind]})
		}
		a.states = append(a.states, one)
	}
	return a
}

// habits are the factors of one user at one behaviour.
type habits struct {
	patience float64
	states   [][amounts]float64
}

// habitsOf draws them, each from a stream of its own, so that a state more leaves those of the others alone.
func (a *automaton) habitsOf(seed uint64, user string) habits {
	factor := func(of scenario.Amount, words ...string) float64 {
		if of.PerUser == 0 {
			return 1
		}
		return of.Factor(draw.NewStream(seed, user, a.name, "habit", strings.Join(words, " ")))
	}
	h := habits{factor(a.patience, "patience"), make([][amounts]float64, len(a.states))}
	for i, s := range a.states {
		for j, of := range s.amounts {
			h.states[i][j] = factor(of, s.name, amountNames[j])
		}
	}
	return h
}

var amountNames = [amounts]string{sends: "sends", receives: "receives", more: "more", moreReceives: "more receives",
	expect: "expect", lasts: "lasts", every: "every", think: "think"}
