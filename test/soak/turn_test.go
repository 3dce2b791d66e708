package soak

import (
	"slices"
	"testing"
)

// Each turn has a part of its own; all parts together are what runs without turns and in the full form.
func TestTurn(t *testing.T) {
	for _, c := range []struct {
		soak, turn string
		now        int
		pattern    string
		modes      []string
	}{
		{"", "0", 0, "a", []string{"routed"}},
		{"", "1", 1, "b", []string{"bridge"}},
		{"", "268435454", 2, "c", []string{"routed"}},
		{"", "all", -1, "a|b|c", []string{"bridge", "routed"}},
		{"", "", -1, "a|b|c", []string{"bridge", "routed"}},
		{"1", "1", -1, "a|b|c", []string{"bridge", "routed"}},
	} {
		t.Setenv(Variable, c.soak)
		t.Setenv(TurnVariable, c.turn)
		if got := now(t); got != c.now {
			t.Errorf("%+v: turn %d", c, got)
		}
		if got := Patterns(t, [Turns]string{"a", "b", "c"}); got != c.pattern {
			t.Errorf("%+v: pattern %s", c, got)
		}
		if got := OneOf(t, "bridge", "routed"); !slices.Equal(got, c.modes) {
			t.Errorf("%+v: modes %v", c, got)
		}
		for turn := range Turns {
			ran := &witness{TB: t}
			Turn(ran, turn)
			if ran.skipped != (c.now >= 0 && c.now != turn) {
				t.Errorf("%+v: a test of turn %d was skipped: %v", c, turn, ran.skipped)
			}
		}
	}
}

// witness notes that it is skipped, and goes on.
type witness struct {
	testing.TB
	skipped bool
}

func (w *witness) Skipf(string, ...any) { w.skipped = true }
