package plan

import (
	"strings"

	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// machine is a behaviour whose states are numbered, in the order of their names.
type machine struct {
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

func newMachine(name string, b scenario.Behaviour) *machine {
	m := &machine{name: name, patience: b.Patience.Amount}
	number := map[string]int{scenario.End: -1}
	for i, state := range scenario.Sorted(b.States) {
		number[state] = i
	}
	m.start = number[b.Start]
	for _, name := range scenario.Sorted(b.States) {
		s := b.States[name]
		one := state{State: s, name: name, amounts: [amounts]scenario.Amount{s.Sends.Amount, s.Receives.Amount,
			s.More.Count.Amount, s.More.Receives.Amount, s.Expect.Amount, s.Lasts.Amount, s.Every.Amount, s.Think.Amount}}
		for _, next := range scenario.Sorted(s.Next) {
			one.next = append(one.next, number[next])
			one.weights = append(one.weights, float64(s.Next[next]))
		}
		for _, kind := range scenario.Sorted(s.Mistakes) {
			one.mistakes = append(one.mistakes, mistake{kind, s.Mistakes[kind]})
		}
		m.states = append(m.states, one)
	}
	return m
}

// habits are the factors of one user at one behaviour.
type habits struct {
	patience float64
	states   [][amounts]float64
}

// habitsOf draws them, each from a stream of its own, so that a state more leaves those of the others alone.
func (m *machine) habitsOf(seed uint64, user string) habits {
	factor := func(a scenario.Amount, words ...string) float64 {
		if a.PerUser == 0 {
			return 1
		}
		return a.Factor(draw.NewStream(seed, user, m.name, "habit", strings.Join(words, " ")))
	}
	h := habits{factor(m.patience, "patience"), make([][amounts]float64, len(m.states))}
	for i, s := range m.states {
		for j, a := range s.amounts {
			h.states[i][j] = factor(a, s.name, amountNames[j])
		}
	}
	return h
}

var amountNames = [amounts]string{"sends", "receives", "more", "more receives", "expect", "lasts", "every", "think"}
