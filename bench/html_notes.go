package bench

import (
	"fmt"
	"strings"
)

func (v *view) columnNotes() []fact {
	var all []fact
	for _, c := range v.Columns {
		for _, key := range sortedKeys(c.Notes) {
			all = append(all, fact{v.columnWords(c), key + ": " + c.Notes[key]})
		}
	}
	for _, what := range v.Method.LeftOut {
		all = append(all, fact{"left out", what})
	}
	return all
}

func (v *view) unstable() []fact {
	var all []fact
	for _, c := range v.Cells {
		if c.Unstable {
			f := v.headline(c.Cell)
			s := c.Figures[f.Name]
			all = append(all, fact{c.Cell.String(), fmt.Sprintf("%s varies by %.0f %% (%s–%s %s)", f.Name, 100*s.CV, number(s.Min), number(s.Max), unitOf(f))})
		}
	}
	return all
}

func (v *view) failedRounds() []fact {
	var all []fact
	for _, c := range v.Cells {
		if len(c.Failures) > 0 {
			all = append(all, fact{c.Cell.String(), strings.Join(c.Failures, "\n")})
		}
	}
	return all
}

// testWords say what the marks mean in this report, and what they cannot show.
func (v *view) testWords() []string {
	var all []string
	for _, mode := range []string{Control, Reference} {
		tests := 0
		for t := range v.verdicts.p {
			if t.mode == mode {
				tests++
			}
		}
		switch {
		case tests == 0 || v.Method.Rounds < 2:
		case v.verdicts.power[mode]:
			all = append(all, fmt.Sprintf("Against %s: * is a clear difference (Mann–Whitney, p < %g after Holm's correction for %d tests), ~ is none.", mode, Alpha, tests))
		default:
			all = append(all, fmt.Sprintf("Against %s: %s are too few for a rank test of %d differences, so nothing is marked; look at the intervals.", mode, plural(v.Method.Rounds, "round"), tests))
		}
	}
	return all
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// extent says how much was measured.
func (v *view) extent() string {
	counted := 0
	for _, s := range v.Samples {
		if !s.Warmup {
			counted++
		}
	}
	return fmt.Sprintf("%s, %s, %s", plural(len(v.modes), "mode"), plural(len(v.Cells), "cell"), plural(counted, "reading"))
}
