package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/bench"
)

// reportIn writes a report of two modes into a folder; delay is the bridge's.
func reportIn(t *testing.T, name string, delay float64, change func(*bench.Report)) string {
	t.Helper()
	r := &bench.Report{APIVersion: apiVersion, Kind: "BenchReport", Method: bench.Method{Placement: bench.SameCore, Rounds: 10, Seconds: 1},
		Environment: bench.Environment{Kernel: "6.18.0", CPU: "Some CPU", Cores: 2, Load: "0 0 0", Start: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)},
		Probes:      []bench.ProbeInfo{{Name: "ping", Figures: bench.Ping{}.Figures()}}}
	for mode, middle := range map[string]float64{"host": 20, "bridge": delay} {
		cell := bench.Cell{Mode: mode, Span: bench.SameHost, Probe: "ping", Pairs: 1}
		r.Columns = append(r.Columns, bench.ColumnInfo{Mode: mode, Span: bench.SameHost})
		var all []float64
		for round := range 10 {
			v := middle * (1 + 0.01*float64(round))
			all = append(all, v)
			r.Samples = append(r.Samples, bench.Sample{Cell: cell, Round: round, Seconds: 1, Figures: map[string]float64{"rtt-avg": v}})
		}
		r.Cells = append(r.Cells, bench.CellResult{Cell: cell, Figures: map[string]bench.Stat{"rtt-avg": bench.Summarise(all)}})
	}
	if change != nil {
		change(r)
	}
	folder := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(filepath.Join(folder, "report.json")); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestBenchReport(t *testing.T) {
	folder := reportIn(t, "run", 40, nil)
	page := filepath.Join(t.TempDir(), "page.html")
	if got := call(t, "bench", "report", folder, "--html", page); got.code != 0 || !strings.Contains(got.stdout, "ping, 1 pair") || !strings.Contains(got.stderr, page) {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "Who wins, and by how much") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "report.html")); err == nil {
		t.Error("--html wrote the other forms too")
	}
	got := call(t, "bench", "report", folder, "-o", "json")
	var doc bench.Report
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || doc.Kind != "BenchReport" || len(doc.Samples) != 20 {
		t.Errorf("%v: %+v", err, got)
	}
	for _, name := range []string{"report.html", "samples.csv", "report.bench"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for expr, want := range map[string]int{"rtt-avg>200us": 0, "rtt-avg>30us": 1, "rtt-avg{mode=host}>30us and rtt-avg>0.5ms": 0, "p99>200us": 2, "speed>1": 2, "rtt-avg>1Gbit/s": 2} {
		if got := call(t, "bench", "report", folder, "--fail-if", expr); got.code != want {
			t.Errorf("%s: exit code %d, want %d: %s", expr, got.code, want, got.stderr)
		}
	}
	for _, args := range [][]string{{"bench", "report"}, {"bench", "report", t.TempDir()}, {"bench", "report", folder, folder}} {
		if got := call(t, args...); got.code != 2 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestBenchCompare(t *testing.T) {
	a, b := reportIn(t, "a", 40, nil), reportIn(t, "b", 60, nil)
	page := filepath.Join(t.TempDir(), "change.html")
	if got := call(t, "bench", "compare", a, b, "--html", page); got.code != 0 || !strings.Contains(got.stdout, "1 clearly worse") || !strings.Contains(got.stdout, "1.50") {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "Clearly worse") {
		t.Error(err)
	}
	got := call(t, "bench", "compare", a, b, "-o", "json")
	var doc bench.Comparison
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || doc.Kind != "BenchComparison" || len(doc.Cells) != 2 || got.stderr != "" {
		t.Errorf("%v: %+v", err, got)
	}
	for expr, want := range map[string]int{"regression>5%": 1, "sure-regression>40%": 1, "regression>60%": 0, "regression{mode=host}>1%": 0, "p99>1us": 2} {
		if got := call(t, "bench", "compare", a, b, "--fail-if", expr); got.code != want {
			t.Errorf("%s: exit code %d, want %d: %s", expr, got.code, want, got.stderr)
		}
	}
	other := reportIn(t, "c", 40, func(r *bench.Report) { r.Method.Placement = bench.SeparateCores })
	if got := call(t, "bench", "compare", a, other); got.code != 2 || !strings.Contains(got.stderr, "placement: same-core, then separate-cores") {
		t.Errorf("%+v", got)
	}
	if got := call(t, "bench", "compare", a, other, "--anyway"); got.code != 0 || !strings.Contains(got.stdout, "differs: placement") {
		t.Errorf("%+v", got)
	}
	newer := reportIn(t, "d", 40, func(r *bench.Report) { r.Environment.Kernel = "7.0" })
	if got := call(t, "bench", "compare", a, newer); got.code != 0 || strings.Count(got.stdout+got.stderr, "kernel: 6.18.0, then 7.0") != 1 {
		t.Errorf("%+v", got)
	}
}
