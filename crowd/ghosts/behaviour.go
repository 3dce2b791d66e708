package ghosts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// expected is how long a step takes beside its pauses, roughly.
const expected = time.Second

// chained makes a behaviour whose steps follow each other, and says how long it takes on average.
func (like builtIn) chained(steps []step) (b behaviour, takes time.Duration) {
	b = behaviour{Patience: "1m", States: map[string]state{}} // no source: a guess
	names := make([]string, len(steps), len(steps)+1)
	for i, s := range steps {
		names[i] = fmt.Sprintf("%s-%d", s.name, i+1)
	}
	names = append(names, "end")
	b.Start = names[0]
	for i, s := range steps {
		is := like.of(s)
		if s.after.max > 0 {
			is["think"] = s.after.yaml()
		}
		on := 1 / (1 + s.again) // so it is repeated again times on average
		is["next"] = map[string]float64{names[i+1]: on}
		if s.again > 0 {
			is["next"] = map[string]float64{names[i+1]: on, names[i]: 1 - on}
		}
		b.States[names[i]] = is
		takes += time.Duration((1 + s.again) * float64(s.after.mean()+expected))
	}
	return b, takes
}

// yaml is the delay in the words of a scenario.
func (d delay) yaml() any {
	if d.min == d.max {
		return scenario.Short(d.min)
	}
	return map[string]any{"uniform": []string{scenario.Short(d.min), scenario.Short(d.max)}}
}

// rate is how often sessions of a handler come, each of which takes so long.
func (h handler) rate(takes time.Duration) string {
	if !h.Loop {
		takes = time.Duration((h.Off.hour-h.On.hour)*60+h.Off.minute-h.On.minute) * time.Minute
		if takes <= 0 {
			takes += 24 * time.Hour
		}
	}
	return strconv.FormatFloat(min(time.Hour.Seconds()/takes.Seconds(), 3600), 'g', 6, 64) + "/h"
}

// hoursOf are the hours in which any of the handlers does something, "" is around the clock, and whether all have the same.
func hoursOf(all []handler) (hours string, same bool) {
	var words []string
	for _, h := range all {
		if !h.known() {
			continue
		}
		w := h.On.String() + "-" + h.Off.String()
		if h.On == h.Off {
			w = ""
		}
		words = append(words, w)
	}
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) == 1 {
		return words[0], true
	}
	first, last := "24:00", "00:00"
	for _, w := range words {
		on, off, _ := strings.Cut(w, "-")
		if w == "" || off <= on { // around the clock, or past midnight
			return "", false
		}
		first, last = min(first, on), max(last, off)
	}
	return first + "-" + last, false
}
