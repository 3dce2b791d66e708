package main

import (
	"testing"

	"github.com/heddle-network/heddle/crowd/scenario"
)

func TestDaysText(t *testing.T) {
	for want, days := range map[string][]int{
		"": nil, "mon-fri": {0, 1, 2, 3, 4}, "sat,sun": {5, 6}, "mon-sun": {0, 1, 2, 3, 4, 5, 6}, "wed,fri-mon": {4, 5, 6, 0, 2},
		"thu": {3}, "sun,mon": {6, 0}, "mon,wed": {0, 2},
	} {
		var set scenario.Days
		for _, day := range days {
			set[day] = true
		}
		if got := daysText(set); got != want {
			t.Errorf("%v: %q, not %q", days, got, want)
		}
	}
}
