package bench

import "testing"

// A mode that is fast where it works, and fails where all are slow, does not win by that: only
// situations that all have measured count.
func TestMeanIsFair(t *testing.T) {
	r := stress{modes: []string{"host", "bridge", "routed"}, wires: []string{""}, sizes: []int{64, 1024}, pairs: []int{1}, rounds: 3, probes: []Probe{Throughput{}}}.report()
	for i, c := range r.Cells {
		switch {
		case c.Mode == "routed" && c.Size == 1024:
			r.Cells[i].Figures, r.Cells[i].RatioHost = nil, nil
		case c.Mode != "host":
			r.Cells[i].RatioHost = map[string]Ratio{"received": {3, map[int]float64{64: 0.9, 1024: 0.1}[c.Size], 0.05, 0.95}}
		}
	}
	v := newView(r)
	cells := v.situationsOf("sockperf-throughput", SameHost)
	if len(cells) != 2 || len(v.fair(cells)) != 1 {
		t.Fatalf("%v, %v", cells, v.fair(cells))
	}
	near(t, "bridge", v.mean(cells, "bridge"), 0.9)
	near(t, "routed", v.mean(cells, "routed"), 0.9)
}
