package report

import (
	"fmt"
	"slices"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// Happened counts the rounds in which the scenario's event of that number, from 1, has begun.
func (r Report) Happened(number int) (rounds int) {
	for _, one := range r.Rounds {
		if slices.ContainsFunc(one.Events, func(e diary.Event) bool { return e.Number == number }) {
			rounds++
		}
	}
	return rounds
}

// ByHand are the faults of a round that were given by hand. A run that has some cannot be repeated.
func (r Round) ByHand() []diary.Event {
	return slices.DeleteFunc(slices.Clone(r.Events), func(e diary.Event) bool { return !e.ByHand })
}

// eventTime writes an event of a scenario with its time.
func eventTime(e scenario.Event) string {
	return fmt.Sprintf("%s at %s for %s", e, scenario.Short(e.At), scenario.Short(e.For))
}

// otherEvents says in what the events of two scenarios differ. Their order is no difference.
func otherEvents(a, b Report) (all []string) {
	lacks := func(a, b Report, format string) {
		var others []string
		for _, e := range b.Events {
			others = append(others, eventTime(e))
		}
		for _, e := range a.Events {
			if text := eventTime(e); !slices.Contains(others, text) {
				all = append(all, fmt.Sprintf(format, text))
			}
		}
	}
	lacks(a, b, "event: %s, then none")
	lacks(b, a, "event: none, then %s")
	return all
}

// unplanned says which faults were given by hand, and where the crowd was scaled.
func (r Report) unplanned(name string) (all []string) {
	for _, one := range r.Rounds {
		for _, e := range one.ByHand() {
			all = append(all, fmt.Sprintf("only the %s has, by hand, in round %d, mode %s: %s", name, one.Number, one.Mode, e))
		}
		for _, s := range one.Scales {
			all = append(all, fmt.Sprintf("only the %s was scaled, in round %d, mode %s: %s", name, one.Number, one.Mode, s))
		}
	}
	return all
}
