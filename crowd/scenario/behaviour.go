package scenario

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// check returns what is wrong with the behaviour of a name.
func (b Behaviour) check(name string) *problem {
	at := func(more ...string) []string { return append([]string{"behaviours", name}, more...) }
	if p := badName(name, at()...); p != nil {
		return p
	}
	if b.Script != "" {
		return b.checkScript(at)
	}
	if len(b.Actions) > 0 || b.Steps > 0 {
		return wrong("its states say what is done; take actions and steps out, or give script instead of states", at()...)
	}
	if len(b.States) == 0 || len(b.States) > maxNamed {
		return wrong(fmt.Sprintf("it has %d states; give 1 to %d", len(b.States), maxNamed), at("states")...)
	}
	if _, there := b.States[b.Start]; !there {
		return wrong(fmt.Sprintf("%q is none of its states; choose from %s", heddle.Clip(b.Start),
			heddle.List(Sorted(b.States))), at("start")...)
	}
	for _, n := range Sorted(b.States) {
		if n == End {
			return wrong("it is the name of where all sessions end; call the state otherwise", at("states", n)...)
		}
		if p := badName(n, at("states", n)...); p != nil {
			return p
		}
		if p := b.States[n].check(b.States, at("states", n)); p != nil {
			return p
		}
	}
	return b.checkWays(at)
}

// check returns what is wrong with a state, at the keys that lead to it.
func (s State) check(all map[string]State, keys []string) *problem {
	at := func(key ...string) []string { return append(append([]string{}, keys...), key...) }
	step := s.Do != ""
	switch {
	case !step && (s.Sends.Given() || s.Receives.Given() || s.More.Count.Given() || s.More.Receives.Given() ||
		s.Expect.Given() || s.Lasts.Given() || s.Every.Given() || s.Connections != nil || s.Keep || s.Mistakes != nil):
		return wrong("without do it is a pause, and has think and next alone; add do", keys...)
	case !step && !s.Think.Given():
		return wrong("it takes no time and does nothing; give it do or think", keys...)
	case step && s.Expect.Given() == s.Lasts.Given():
		return wrong("a step either lasts, or is expected to take a time; give one of lasts and expect", keys...)
	case s.Every.Given() && !s.Lasts.Given():
		return wrong("what is repeated by the clock must end; give lasts", at("every")...)
	case s.Every.Given() && s.Every.Least < float64(MinEvery):
		return wrong("it may be drawn too short; give a value or a min of 1ms at least", at("every")...)
	case s.Every.Given() && s.More.Count.Given():
		return wrong("requests come by the clock, or all at once; take out every or more", at("every")...)
	case s.More.Receives.Given() && !s.More.Count.Given():
		return wrong("without count there are no more requests; give count, or take it out", at("more", "receives")...)
	case s.Keep && s.Opens() == 0:
		return wrong("the step opens no connection that it could keep; give connections, or take out keep", at("keep")...)
	case s.Lasts.Given() && len(s.Mistakes) > 0:
		return wrong("a step that lasts cannot fail at once; take out mistakes, or give expect instead of lasts",
			at("mistakes")...)
	case s.Connections != nil && *s.Connections > MaxConnections:
		return wrong("a step opens up to 100 connections; give fewer", at("connections")...)
	}
	for _, kind := range Sorted(s.Mistakes) {
		if kind != MistakeName && kind != MistakePassword {
			return wrong("there is no such mistake; choose from "+MistakeName+", "+MistakePassword, at("mistakes", kind)...)
		}
	}
	for _, next := range Sorted(s.Next) {
		if _, there := all[next]; !there && next != End {
			return wrong(fmt.Sprintf("there is no such state; choose from %s, %s", heddle.List(Sorted(all)), End),
				at("next", next)...)
		}
	}
	return nil
}

// checkWays refuses states that nothing leads to, and states from which no way leads to the end.
func (b Behaviour) checkWays(at func(...string) []string) *problem {
	reached := b.spread(map[string]bool{b.Start: true}, func(from, to string) (string, string) { return from, to })
	ending := b.spread(map[string]bool{End: true}, func(from, to string) (string, string) { return to, from })
	for _, name := range Sorted(b.States) {
		if !ending[name] {
			return wrong("no way leads from it to the end; give end a weight in its next, or in that of a state after it",
				at("states", name, "next")...)
		}
		if !reached[name] {
			return wrong("no way leads to it from "+b.Start+"; name it in a state's next, or take it out", at("states", name)...)
		}
	}
	return nil
}

// spread adds all states that are connected with those that are there, in one direction of the ways.
func (b Behaviour) spread(there map[string]bool, direct func(from, to string) (string, string)) map[string]bool {
	for grown := true; grown; {
		grown = false
		for name, s := range b.States {
			for next, weight := range s.Next {
				from, to := direct(name, next)
				if weight > 0 && there[from] && !there[to] {
					there[to], grown = true, true
				}
			}
		}
	}
	return there
}
