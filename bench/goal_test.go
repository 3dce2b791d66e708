package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
)

var (
	goalOurs   = Cell{Mode: Overlay, Span: Across, Probe: "udp-paced", Size: 28, Pairs: 1, Wire: shapedWire}
	goalPeer   = withMode(goalOurs, DockerLayout)
	goalNative = withMode(goalOurs, Native)
)

// goalReadings are the readings of three cells, by round.
func goalReadings(ours, peer, native []float64) map[Cell]readings {
	all := map[Cell]readings{}
	for c, values := range map[Cell][]float64{goalOurs: ours, goalPeer: peer, goalNative: native} {
		all[c] = readings{"work": map[int]float64{}}
		for i, v := range values {
			if v > 0 {
				all[c]["work"][1+i] = v
			}
		}
	}
	return all
}

func TestGoalResult(t *testing.T) {
	goal := func(of Formula, atLeast, aim float64) Goal {
		g := ratioGoal("g", of, goalOurs, "work", DockerLayout, atLeast, aim)
		if of == Extra {
			g.Base = Reading{goalNative, "work"}
		}
		return g
	}
	for name, c := range map[string]struct {
		goal               Goal
		ours, peer, native []float64
		want               float64
		n                  int
		words              string
	}{
		"a rate":            {goal(Rate, 1.7, 2.2), []float64{200, 210, 190}, []float64{100, 100, 100}, nil, 2, 3, "pass"},
		"at the limit":      {goal(Rate, 2, 2.2), []float64{200, 200, 200}, []float64{100, 100, 100}, nil, 2, 3, "pass"},
		"a time":            {goal(Speed, 0.75, 0.95), []float64{10, 10, 10}, []float64{9.6, 9.7, 9.8}, nil, 0.97, 3, "aim"},
		"slow":              {goal(Speed, 0.75, 0.95), []float64{20, 20, 20}, []float64{10, 10, 10}, nil, 0.5, 3, "miss"},
		"not sure":          {goal(Speed, 0.75, 0.95), []float64{10, 10, 10}, []float64{6, 8, 9}, nil, 0.8, 3, "pass?"},
		"a cost":            {goal(Expense, 1.25, 1.1), []float64{1.3, 1.3, 1.3}, []float64{1, 1, 1}, nil, 1.3, 3, "miss"},
		"extra":             {goal(Extra, 0.35, 0.2), []float64{11, 21, 31}, []float64{20, 30, 40}, []float64{10, 20, 30}, 0.1, 3, "aim"},
		"extra, less":       {goal(Extra, 0.35, 0.2), []float64{9, 9, 9}, []float64{20, 20, 20}, []float64{10, 10, 10}, -0.1, 3, "aim"},
		"a round is absent": {goal(Rate, 1.7, 2.2), []float64{200, 0, 400}, []float64{100, 100, 200}, nil, 2, 2, "pass"},
		"no peer":           {goal(Rate, 1.7, 2.2), []float64{200, 210}, nil, nil, 0, 0, "not measured"},
		"no native":         {goal(Extra, 0.35, 0.2), []float64{11}, []float64{20}, nil, 0, 0, "not measured"},
		"the peer is free":  {goal(Extra, 0.35, 0.2), []float64{11, 11}, []float64{10, 9}, []float64{10, 10}, 0, 0, "not measured"},
	} {
		got := c.goal.result(goalReadings(c.ours, c.peer, c.native), 1)
		if math.Abs(got.Value.Median-c.want) > 1e-9 || got.Value.N != c.n || got.Words() != c.words {
			t.Errorf("%s: %+v, %s", name, got.Value, got.Words())
		}
		if got.Value.Low > got.Value.Median || got.Value.High < got.Value.Median {
			t.Errorf("%s: %+v", name, got.Value)
		}
		if (got.Takes == "") != (got.Verdict == AimMet || c.n == 0 && name != "the peer is free") {
			t.Errorf("%s: takes %q", name, got.Takes)
		}
	}
}

// TestGoalTakes: what our value must be follows from the medians.
func TestGoalTakes(t *testing.T) {
	extra := extraWork(DockerLayout, "x")
	if got := extra.takes(Missed, 16, 20, 10); got != "16 µs of both programs' CPU per packet received now, 13.5 at the limit (native 10, peer 20)" {
		t.Error(got)
	}
	packets := ratioGoal("x", Rate, Cell{Mode: Overlay, Probe: "sockperf-throughput"}, "received", DockerLayout, 1.7, 2.2)
	if got := packets.takes(Met, 200e3, 100e3, 0); got != "200k packets/s now, 220k at the aim: 455 ns of 5000 less for each" {
		t.Error(got)
	}
}

// TestPathGoals: every goal is about cells that the preset measures, with figures that their probes
// have, and its limit is reached before its aim.
func TestPathGoals(t *testing.T) {
	preset, err := PresetNamed("paths")
	if err != nil {
		t.Fatal(err)
	}
	var columns []Column
	for _, mode := range preset.Modes {
		columns = append(columns, Column{Mode: mode, Span: SameHost, Attach: attachNothing})
		for _, wire := range preset.Wires {
			columns = append(columns, Column{Mode: mode, Span: Across, Wire: strings.TrimPrefix(wire, wholeWire)})
		}
	}
	m := preset.Matrix(columns)
	cells := m.cells()
	names := map[string]bool{}
	for _, g := range preset.Goals {
		if names[g.Name] && !strings.HasPrefix(g.Name, "the same") {
			t.Errorf("%s: twice", g.Name)
		}
		names[g.Name] = true
		if g.unit() == "" || g.AtLeast == g.Aim || g.meets(g.AtLeast, g.Aim) || !g.meets(g.Aim, g.AtLeast) {
			t.Errorf("%+v", g)
		}
		for _, r := range []Reading{g.Ours, g.Peer, g.Base} {
			if r != (Reading{}) && !slices.Contains(cells, r.Cell) {
				t.Errorf("%s: the preset does not run %s", g.Name, r.Cell)
			}
		}
		if (g.Base == Reading{}) == (g.Of == Extra) {
			t.Errorf("%s: a base is for extras", g.Name)
		}
	}
	if len(cells) > 120 || len(preset.Goals) < 20 {
		t.Errorf("%d cells, %d goals", len(cells), len(preset.Goals))
	}
}

func TestChoices(t *testing.T) {
	m := Matrix{Choices: []Choice{{Probe: "iperf3", Span: Across, Wires: []string{"intact"}, Modes: []string{"a"}}, {Probe: "iperf3", Span: SameHost}}}
	for _, c := range []struct {
		probe Probe
		at    Column
		want  bool
	}{
		{Iperf3{}, Column{Mode: "a", Span: Across}, true},
		{Iperf3{}, Column{Mode: "b", Span: Across}, false},
		{Iperf3{}, Column{Mode: "a", Span: Across, Wire: "cut"}, false},
		{Iperf3{}, Column{Mode: "b", Span: SameHost}, true},
		{Ping{}, Column{Mode: "b", Span: Across, Wire: "cut"}, true},
		{Attach{}, Column{Mode: "b", Span: SameHost}, false},
		{Attach{}, Column{Mode: "b", Span: SameHost, Attach: attachNothing}, true},
	} {
		if m.runs(c.probe, c.at) != c.want {
			t.Errorf("%s in %s: %v", c.probe.Name(), c.at.name(), !c.want)
		}
	}
}

// TestMissedGoals: a condition on the goals counts those that were not measured.
func TestMissedGoals(t *testing.T) {
	limits, err := ParseLimits("missed-goals>0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{}
	if err := r.Check(limits); err == nil || !strings.Contains(err.Error(), "no goals") {
		t.Error(err)
	}
	r.Goals = []GoalResult{{Verdict: AimMet}, {Verdict: Met}}
	if err := r.Check(limits); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{Missed, NotMeasured} {
		r.Goals[1].Verdict = bad
		if err := r.Check(limits); err == nil || !strings.Contains(err.Error(), "1 of 2 goals") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, text := range []string{"missed-goals{mode=host}>0", "missed-goals>1us"} {
		if _, err := ParseLimits(text); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

// TestGoalsShown: the table is in the text and on the page, with texts escaped.
func TestGoalsShown(t *testing.T) {
	r := goldenReport()
	g := ratioGoal("<b>fast</b>", Rate, goalOurs, "work", DockerLayout, 1.7, 2.2)
	r.Goals = []GoalResult{g.result(goalReadings([]float64{200, 150, 160}, []float64{100, 100, 100}, nil), 1)}
	var page, text strings.Builder
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h2>Goals</h2>", "&lt;b&gt;fast&lt;/b&gt;", "≥ 1.70", "1.600 [1.500–2.000]", "miss?"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for _, want := range []string{"Goals, " + r.Method.Placement, "1.600 [1.500–2.000]", "miss?", "at the limit"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text has no %s", want)
		}
	}
}
