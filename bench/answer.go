package bench

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// The answer of a report is one sentence. Its rule: a mode's score on a span is the geometric mean
// of its ratios to the host within a round, over all that was measured there, each probe with the
// same weight and turned so that more is better. The score of a run is the median over the rounds,
// with its bootstrap interval. On each span the mode with the highest score wins, together with
// those whose intervals overlap with its own. A mode that needs something from the outside is named
// beside the winner if its interval lies above the winner's.

// score is a mode's score on a span.
type score struct {
	Mode string
	Ratio
}

// need is what a container's mode asks for that not every machine can give.
type need int

const (
	needsNothing need = iota
	needsAddress      // of the LAN
	needsNIC
)

var needWords = map[need]string{
	needsAddress: "when containers may have addresses of the LAN",
	needsNIC:     "when a container may have a NIC of its own",
}

func needOf(mode string) need {
	switch base, _, _ := strings.Cut(mode, "-"); base {
	case "direct":
		return needsNIC
	case "macvlan", "ipvlan":
		return needsAddress
	}
	return needsNothing
}

// placeText names a span in the sentence.
func placeText(span string) string {
	if span == Across {
		return "across hosts"
	}
	return "on one host"
}

// answer is the sentence. The scores are by span, without those of modes for comparison only.
func answer(spans []string, scores map[string][]score) string {
	var base, extra claims
	choice, rounds := false, leastRounds(scores)
	for _, span := range spans {
		if len(scores[span]) == 0 {
			continue
		}
		choice = choice || len(scores[span]) > 1
		best, beside := winners(scores[span], rounds)
		base.add(bestText(best, scores[span]), "", placeText(span))
		for _, w := range beside {
			extra.add(list(w, "or"), needWords[needOf(w[0])], placeText(span))
		}
	}
	switch {
	case len(base) == 0:
		return "Nothing to compare: this run has no second mode beside the host’s own network."
	case !choice:
		return "Only one mode was measured beside the host’s own network: there is nothing to choose."
	}
	return sentence(base, extra, rounds)
}

// leastRounds is the least number of rounds that a score rests on.
func leastRounds(scores map[string][]score) int {
	least := math.MaxInt
	for _, some := range scores {
		for _, s := range some {
			least = min(least, s.N)
		}
	}
	return least
}

func sentence(base, extra claims, rounds int) string {
	var parts []string
	places := 0
	for _, c := range base {
		parts = append(parts, c.what+" "+list(c.places, "and"))
		places += len(c.places)
	}
	for _, c := range extra {
		words := c.what + " " + c.when
		if len(c.places) < places {
			words = c.what + " " + list(c.places, "and") + " " + c.when
		}
		parts = append(parts, words)
	}
	between := ", "
	if strings.Contains(strings.Join(parts, ""), between) {
		between = "; "
	}
	if rounds < enoughRounds {
		return plural(rounds, "round") + ": too few to be sure. Ahead: " + strings.Join(parts, between) + "."
	}
	return "Here: " + strings.Join(parts, between) + "."
}

// claims are what is said of places, in order.
type claims []claim

type claim struct {
	what, when string
	places     []string
}

// add says it of one place more.
func (c *claims) add(what, when, place string) {
	i := slices.IndexFunc(*c, func(x claim) bool { return x.what == what })
	if i < 0 {
		*c = append(*c, claim{what: what, when: when})
		i = len(*c) - 1
	}
	(*c)[i].places = append((*c)[i].places, place)
}

// winners returns the best of the modes that need the least, and those that need more and are
// clearly better, each with the modes that are level with it.
func winners(scores []score, rounds int) (best []string, beside [][]string) {
	var top score
	for _, n := range []need{needsNothing, needsAddress, needsNIC} {
		some := slices.DeleteFunc(slices.Clone(scores), func(s score) bool { return needOf(s.Mode) != n })
		if len(some) == 0 {
			continue
		}
		slices.SortStableFunc(some, func(a, b score) int { return cmp.Compare(b.Median, a.Median) })
		level := []string{some[0].Mode}
		for _, s := range some[1:] {
			if rounds >= enoughRounds && s.High >= some[0].Low {
				level = append(level, s.Mode)
			}
		}
		switch {
		case best == nil:
			best, top = level, some[0]
		case some[0].Low > top.High:
			beside, top = append(beside, level), some[0]
		}
	}
	return best, beside
}

// bestText names the best, and says so if all their rivals are level.
func bestText(best []string, scores []score) string {
	rivals := 0
	for _, s := range scores {
		if needOf(s.Mode) == needOf(best[0]) {
			rivals++
		}
	}
	switch {
	case len(best) > 1 && len(best) == rivals:
		return "no difference between " + list(best, "and")
	case len(best) > 1:
		return list(best, "or") + " (no difference)"
	}
	return best[0]
}

// list writes words as people do: a, b and c.
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
