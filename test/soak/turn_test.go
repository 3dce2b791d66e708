package soak

import (
	"slices"
	"testing"
)

// Each turn has a part of its own; all parts together are what runs without turns and in the full form.
func TestTurn(t *testing.T) {
	ran := func() (all []int) {
		for turn := range Turns {
			t.Run("", func(t *testing.T) {
				Turn(t, turn)
				all = append(all, turn)
			})
		}
		return all
	}
	t.Setenv(Variable, "")
	for text, want := range map[string][]int{"0": {0}, "1": {1}, "268435454": {268435454 % Turns}, "all": {0, 1, 2}, "": {0, 1, 2}} {
		t.Setenv(TurnVariable, text)
		if got := ran(); !slices.Equal(got, want) {
			t.Errorf("%s=%q ran %v and not %v", TurnVariable, text, got, want)
		}
	}
	t.Setenv(TurnVariable, "1")
	t.Setenv(Variable, "1")
	if got := ran(); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("the full form ran %v", got)
	}
}
