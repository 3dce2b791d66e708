package soak

import (
	"slices"
	"testing"
)

// One of any three steps that follow each other is visited, always the same, and another one in
// bridge than in routed.
func TestNext(t *testing.T) {
	first := map[string]int{}
	for _, mode := range []string{"bridge", "routed"} {
		var all []int
		for step := next("Test/"+mode+"/attach", 0); step <= 30; step = next("Test/"+mode+"/attach", step) {
			all = append(all, step)
		}
		if len(all) != 10 || all[0] > stride {
			t.Errorf("%s: %v", mode, all)
		}
		for i, step := range all[1:] {
			if step != all[i]+stride {
				t.Errorf("%s: %v", mode, all)
			}
		}
		first[mode] = all[0]
	}
	if first["bridge"] == first["routed"] {
		t.Errorf("both visit the same steps: %v", first)
	}
	t.Setenv(Variable, "1")
	var full []int
	for step := Next(t, 0); step <= 5; step = Next(t, step) {
		full = append(full, step)
	}
	if !slices.Equal(full, []int{1, 2, 3, 4, 5}) {
		t.Errorf("the full form visits %v", full)
	}
}
