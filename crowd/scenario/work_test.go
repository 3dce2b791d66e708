package scenario

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestWork: what is counted is what the comment of work says.
func TestWork(t *testing.T) {
	const head = `
crowd: c
users: 10
clock: {start: "Mon 10:00", length: 2h}
personas: {p: {share: 1, does: {b: 3/h}}}
behaviours:
  b:
    start: s
    states:
      s: `
	for state, want := range map[string]float64{
		`{do: web.page, expect: 1s, next: {end: 1}}`:                                                        1 + 1 + 6*(1+2),
		`{do: web.page, expect: {uniform: [1s, 2s], per-user: 1}, next: {end: 1}}`:                          1 + 2 + 6*(1+2),
		`{do: web.page, expect: 1s, more: {count: 7, receives: 1}, next: {end: 1}}`:                         1 + 1 + 6*(1+2+7),
		`{do: web.page, expect: 1s, more: {count: {uniform: [0, 8]}}, next: {end: 1}}`:                      1 + 1 + 6*(1+2+4),
		`{do: web.page, expect: 1s, more: {count: {uniform: [0, 8], cap: 0}}, next: {end: 1}}`:              1 + 1 + 6*(1+2),
		`{do: web.page, expect: 1s, more: {count: {uniform: [0, 8], min: 4}}, next: {end: 1}}`:              1 + 1 + 6*(1+2+6+1),
		`{do: web.page, expect: 1s, more: {count: {uniform: [0, 8], minus: 4}}, next: {end: 1}}`:            1 + 1 + 6*(1+2+1),
		`{do: web.page, expect: 1s, more: {count: {uniform: [1, 2], min: 100, max: 100}}, next: {end: 1}}`:  1 + 1 + 6*(1+2+100+100),
		`{do: web.page, expect: 1s, mistakes: {name: {chance: 50%, again: 1s}}, next: {end: 1}}`:            1 + 1 + 6*(1+2.5),
		`{do: web.page, expect: 1s, more: {count: 3, receives: {uniform: [0, 8], max: 2}}, next: {end: 1}}`: 1 + 1 + 6*(1+2+3+3*3),
		`{do: web.page, sends: {uniform: [0, 8], max: 4}, expect: 1s,
        mistakes: {name: {chance: 50%, again: {uniform: [0s, 8s], max: 4s}}}, next: {end: 1}}`: 1 + 1 + 6*(1+2+1+0.5*3),
		`{think: 1s, next: {s: 0.75, end: 0.25}}`: 1 + 1 + 6*(1+4),
		`{do: web.page, expect: 1s, next: {s: 0.75, t: 0.25}}
      t: {think: 1s, next: {end: 1}}`: 1 + 1 + 6*(1+4*2+1),
		`{think: 1ms, next: {s: 0.9999999, end: 0.0000001}}`: 1 + 1 + 6*(1+MaxVisits),
	} {
		s, err := Parse([]byte(head + state))
		if err != nil {
			t.Errorf("%s: %v", state, err)
			continue
		}
		all, ofOne := s.work()
		if math.Abs(ofOne["p"]-want) > 0.01*want || math.Abs(all-10*ofOne["p"]) > 1e-6 {
			t.Errorf("%s: %v of one, %v of all; expected %v of one", state, ofOne["p"], all, want)
		}
	}
}

// TestWorkIsTheSame: sums do not depend on the order in which Go walks a mapping.
func TestWorkIsTheSame(t *testing.T) {
	for _, name := range Examples() {
		text, _ := Example(name)
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all, _ := s.work()
		for range 30 {
			if again, _ := s.work(); again != all {
				t.Fatalf("%s: %v, then %v", name, all, again)
			}
		}
	}
}

// TestMany: a scenario has so many behaviours of its own, besides those that are built in.
func TestMany(t *testing.T) {
	for n, fits := range map[int]bool{maxNamed: true, maxNamed + 1: false} {
		does, has := "mail: 1/h", ""
		for i := range n {
			does += fmt.Sprintf(", b%d: 1/h", i)
			has += fmt.Sprintf("  b%d: {start: s, states: {s: {think: 1s, next: {end: 1}}}}\n", i)
		}
		_, err := Parse([]byte(`
crowd: c
users: 1
clock: {start: "Mon 10:00", length: 2h}
personas: {p: {share: 1, does: {` + does + `}}}
behaviours:
` + has))
		if fits != (err == nil) || !fits && !strings.Contains(err.Error(), "behaviours: there are 201; give up to 200") {
			t.Errorf("%d behaviours: %v", n, err)
		}
	}
}
