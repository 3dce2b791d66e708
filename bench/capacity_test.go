package bench

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCapacitiesAreOfTheSlowest(t *testing.T) {
	m := testMatrix()
	m.Probes = []Probe{UnderLoad{Percent: 80}, UnderLoad{}}
	var samples []Sample
	cells := m.capacityCells()
	if len(cells) != 4*2 {
		t.Fatalf("%d cells", len(cells))
	}
	for _, c := range cells {
		speed := map[string]float64{"host": 200e3, "bridge": 100e3}[c.Mode]
		samples = append(samples, Sample{Cell: c, Round: capacityRound, Warmup: true, Figures: map[string]float64{"received": speed}},
			Sample{Cell: c, Figures: map[string]float64{"received": 1}})
	}
	known := capacities(samples)
	if len(known) != 2*2 || known[0].Mode != "bridge" {
		t.Fatalf("%+v", known)
	}
	for _, c := range m.cells() {
		want := m.Load
		if c.Probe == "sockperf-load80" {
			want = 80000
		}
		if got := m.load(c, known); got != want {
			t.Errorf("%s: %d, want %d", c, got, want)
		}
	}
	if got := m.load(Cell{Mode: "host", Span: SameHost, Probe: "sockperf-load80", Size: 9, Pairs: 1}, known); got != 0 {
		t.Errorf("an unknown size has load %d", got)
	}
}

// TestJournalKeepsCapacities: a resumed run offers the same loads.
func TestJournalKeepsCapacities(t *testing.T) {
	out := t.TempDir()
	m := testMatrix()
	m.Probes = []Probe{UnderLoad{Percent: 50}}
	j, err := openJournal(out, m, false)
	if err != nil {
		t.Fatal(err)
	}
	first := m.capacityCells()[0]
	known := []Capacity{{Span: Across, Wire: "cut", Size: 64, Mode: "bridge", PerSecond: 12345}}
	for _, err := range []error{
		j.write(Sample{Cell: first, Round: capacityRound, Warmup: true, Figures: map[string]float64{"received": 5}}),
		j.writeCapacities(known),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	j.close()
	if j, err = openJournal(out, m, true); err != nil {
		t.Fatal(err)
	}
	defer j.close()
	if len(j.capacities) != 1 || j.capacities[0] != known[0] || len(j.old) != 1 {
		t.Errorf("%+v", j)
	}
	if left := j.left(m.capacityCells(), capacityRound); len(left) != len(m.capacityCells())-1 {
		t.Errorf("%d cells left", len(left))
	}
	r := runner{m: m, journal: j}
	if err := r.findCapacities(context.Background()); err != nil || r.capacities[0] != known[0] {
		t.Errorf("%v, %v", r.capacities, err)
	}
	text, err := os.ReadFile(filepath.Join(out, "samples.jsonl"))
	if err != nil || strings.Count(string(text), "\n") != 3 {
		t.Errorf("%s, %v", text, err)
	}
}
