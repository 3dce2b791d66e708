package bench

import (
	"fmt"
	"slices"
)

// intervalText is a ratio's interval in brackets. One round has none.
func intervalText(r Ratio) string {
	if r.N < 2 {
		return ""
	}
	return fmt.Sprintf(" [%s–%s]", number(r.Low), number(r.High))
}

// intervalWords is the same for those who hear the page.
func intervalWords(r Ratio) string {
	if r.N < 2 {
		return ""
	}
	return fmt.Sprintf(", 95 %% interval %s to %s", number(r.Low), number(r.High))
}

// levelWith returns the modes that do not differ clearly from the winner in any situation.
func (v *view) levelWith(cells []Cell, winner string) []string {
	var all []string
	for _, m := range v.modes {
		level := 0
		for _, c := range cells {
			if best, tied := v.best(c); (best == m || slices.Contains(tied, m)) && (best == winner || slices.Contains(tied, winner)) {
				level++
			}
		}
		if m != winner && level == len(cells) && !v.fewRounds() {
			all = append(all, m)
		}
	}
	return all
}

// next names the second best of the modes, without the control, and its value as a part of the
// best.
func (v *view) next(cells []Cell, f Figure, top float64) string {
	second, value := "", 0.0
	for _, m := range v.modes {
		if g := v.mean(cells, m); m != Control && m != Reference && g > value {
			second, value = m, g
		}
	}
	if second == "" {
		return ""
	}
	return fmt.Sprintf("%s follows with %s × bridge", second, number(figureRatio(value/top, f)))
}

// wins says how certain the first place is.
func (v *view) wins(cells []Cell, mode string) string {
	alone, level := 0, 0
	for _, c := range cells {
		best, tied := v.best(c)
		switch {
		case best == mode && len(tied) == 0:
			alone++
		case best == mode || slices.Contains(tied, mode):
			level++
		}
	}
	switch n := len(cells); {
	case v.fewRounds():
		return plural(v.Method.Rounds, "round") + ": too few to be sure of the order"
	case n == 1 && alone == 1:
		return "clear of the others"
	case n == 1:
		return "not clearly: the intervals overlap"
	case alone == 0:
		return fmt.Sprintf("not clearly: level with others in %d of %d situations", level, n)
	case level == 0:
		return fmt.Sprintf("clearly, in %d of %d situations", alone, n)
	default:
		return fmt.Sprintf("clearly in %d of %d situations, level with others in %d", alone, n, level)
	}
}
