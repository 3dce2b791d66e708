package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// slower is the report with every bridge latency longer by a part.
func slower(t *testing.T, by float64) *Report {
	t.Helper()
	s := stress{modes: []string{"host", "bridge"}, wires: []string{""}, sizes: []int{64}, pairs: []int{1}, rounds: 10, probes: []Probe{PingPong{}, Iperf3{}}}
	r := s.report()
	for _, x := range r.Samples {
		if x.Mode == "bridge" && x.Probe == "sockperf-pingpong" {
			x.Figures["p50"] *= 1 + by
		}
	}
	m := testMatrix()
	m.Columns, m.Probes, m.Sizes, m.PairCounts, m.Rounds, m.WarmupRounds = testColumns(s.modes...), s.probes, s.sizes, s.pairs, s.rounds, 0
	return s.assemble(m, r.Environment, r.Samples)
}

func TestCompareFindsTheChange(t *testing.T) {
	c := Compare(slower(t, 0), slower(t, 0.5))
	worse := 0
	for _, x := range c.Cells {
		switch changed := x.Mode == "bridge" && x.Figure == "p50"; {
		case changed && (x.Verdict != Worse || math.Abs(x.Ratio-1.5) > 1e-9 || x.Low > 1.5 || x.High < 1.5 || x.Low < 1.3 || x.P >= Alpha):
			t.Errorf("%+v", x)
		case changed:
			worse++
			if math.Abs(x.HostRatio-1.5) > 1e-9 {
				t.Errorf("÷ host: %v", x.HostRatio)
			}
		case x.Verdict != Unclear || x.Ratio != 1:
			t.Errorf("%s %s: %s %v", x.Cell, x.Figure, x.Verdict, x.Ratio)
		}
	}
	if worse != 2 || c.Tests != len(c.Cells) {
		t.Errorf("%d changes, %d tests of %d", worse, c.Tests, len(c.Cells))
	}
	if back := Compare(slower(t, 0.5), slower(t, 0)); !slices.ContainsFunc(back.Cells, func(x ComparisonCell) bool { return x.Verdict == Better }) {
		t.Error("the way back is no better")
	}
	if few := Compare(goldenReport(), goldenReport()); few.Cells[0].Verdict != TooFew || !strings.Contains(Summary(few.all()), "too few rounds") {
		t.Errorf("three rounds: %s, %s", few.Cells[0].Verdict, Summary(few.all()))
	}
}

func TestCompareOneLineForWhatIsMissing(t *testing.T) {
	a, b := invented()["usual"], invented()["lxc"]
	c := Compare(a, b)
	var only []string
	for _, w := range c.Warnings {
		if strings.Contains(w, "only the") {
			only = append(only, w)
		}
	}
	shared := map[Cell]bool{}
	for _, x := range c.Cells {
		shared[x.Cell] = true
	}
	wantA, wantB := len(a.Cells)-len(shared), len(b.Cells)-len(shared)
	if len(shared) < 10 || wantA < 10 || wantB < 10 || len(c.OnlyA) != wantA || len(c.OnlyB) != wantB {
		t.Errorf("%d shared, %d and %d apart", len(shared), len(c.OnlyA), len(c.OnlyB))
	}
	if len(only) != 2 || !strings.Contains(only[0], fmt.Sprintf("only the first has %d cells: ", wantA)) || !strings.Contains(only[0], fmt.Sprintf(" and %d more", wantA-3)) {
		t.Errorf("%q", only)
	}
	var text bytes.Buffer
	if err := c.Text(&text); err != nil || strings.Count(text.String(), "differs: ") != len(c.Warnings) {
		t.Errorf("%v: %s", err, text.String())
	}
	if raw, err := json.Marshal(c); err != nil || !bytes.Contains(raw, []byte(`"verdict"`)) || !bytes.Contains(raw, []byte(`"onlyA"`)) {
		t.Errorf("%v: %s", err, raw)
	}
}

func TestComparable(t *testing.T) {
	a, b := goldenReport(), goldenReport()
	b.Environment.Kernel, b.Environment.CPU = "7.0", "another"
	if err := Comparable(a, b); err != nil {
		t.Errorf("another machine may be compared: %v", err)
	}
	b.Method.Placement, b.Method.Load = SameCore, 5
	err := Comparable(a, b)
	if !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), "placement: separate-cores, then same-core; offered load: 10000, then 5") {
		t.Error(err)
	}
}

func TestCompareCheck(t *testing.T) {
	c := Compare(slower(t, 0), slower(t, 0.5))
	for expr, want := range map[string]heddle.Code{
		"regression>5%":                          heddle.Threshold,
		"regression{mode=bridge}>0.49":           heddle.Threshold,
		"regression{mode=bridge}>51%":            "",
		"regression{mode=host}>0":                "",
		"sure-regression>5%":                     heddle.Threshold,
		"sure-regression>49.9%":                  "",
		"regression{probe=iperf3}>0":             "",
		"ratio{figure=p50,mode=bridge}>1.4":      heddle.Threshold,
		"ratio{figure=p99,mode=bridge}>1.4":      "",
		"ratio{figure=p50,mode=bridge}>140%":     heddle.Threshold,
		"regression{mode=nobody}>1":              heddle.BadArgument,
		"ratio{figure=rtt-avg}>1":                heddle.BadArgument,
		"ratio<0.5 and regression{mode=host}>5%": "",
	} {
		limits, err := ParseChangeLimits(expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		err = c.Check(limits)
		if want == "" && err != nil || want != "" && !errors.Is(err, want.Sentinel()) {
			t.Errorf("%s: %v", expr, err)
		}
	}
	for expr, want := range map[string]string{"p99>200us": "there are ratio (ratio), regression", "regression>5us": "not in us"} {
		if _, err := ParseChangeLimits(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", expr, err)
		}
	}
}
