package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/tally"
	"github.com/heddle-network/heddle/impair"
)

// crowdReport is of two rounds on two modes, one of which is not valid, and of one that the kernel does not have.
func crowdReport() report.Report {
	played := func(number int, mode string, waited time.Duration, invalid string) report.Round {
		r := round.Round{Network: "crowd-" + mode, Mode: mode, Users: 1000, Length: time.Minute, Attached: 7160 * time.Millisecond,
			Detached: 16 * time.Second, Processor: 0.07, Machine: 0.2, MemoryPerUser: 302400, Invalid: invalid}
		r.Behaviours = map[string]tally.Sessions{"browse": {Intended: 100, Started: 100, Achieved: 99, Failed: 1},
			"call": {Intended: 50, Started: 49, Late: 1, Achieved: 47, GivenUp: 1, Unfinished: 1}}
		r.Actions = map[string]tally.Steps{"voice.call": {Count: 49}, "web.page": {Count: 400, Failed: 1, Apdex: 0.98,
			Planned: tally.Durations{Count: 399, P50: waited, P99: 4 * waited},
			Service: tally.Durations{Count: 399, P50: waited / 2, P99: 3 * waited}},
			"dns.query": {Count: 100, Apdex: -1, Planned: tally.Durations{Count: 100, P50: waited / 8, P99: waited / 4}}}
		r.Calls = tally.Calls{Count: 49, MOSP10: 4.1, MOSP50: 4.41, Lost: 0.002}
		r.OnLinks = &link.Count{Count: impair.Count{Frames: 40_000, Lost: 200}}
		r.Lag, r.Paced = tally.Durations{P99: time.Millisecond}, tally.Durations{P99: 1200 * time.Microsecond}
		r.Failures = []tally.Failure{{Why: "web.page: connection refused", Count: 1}}
		return report.Round{Number: number, Round: r}
	}
	late := "the crowd itself was late: p99 12ms, and 10ms is allowed"
	return report.Report{Crowd: "office", Seed: 7, Users: 1000, Length: time.Minute, SHA256: strings.Repeat("4f5c", 16),
		Modes: []string{"bridge", "routed", "ipvlan"}, LeftOut: map[string]string{"ipvlan": "mode ipvlan does not work here"},
		Links: map[string]scenario.Link{"remote": {Rate: 20e6, Impairment: impair.Impairment{Delay: 30 * time.Millisecond, Loss: 0.005}}},
		Rounds: []report.Round{played(1, "bridge", 1600*time.Microsecond, ""), played(1, "routed", 9*time.Millisecond, late),
			played(2, "routed", 8*time.Millisecond, late), played(2, "bridge", 2*time.Millisecond, "")}}
}

// TestCrowdReportScreen renders a report.
func TestCrowdReportScreen(t *testing.T) {
	s, out := screen(t)
	if err := s.reportScreen(s.stdout, crowdReport()); err != nil {
		t.Fatal(err)
	}
	compare(t, "crowd.report", out.String())
	plain := crowdReport()
	plain.Links = nil
	for i := range plain.Rounds {
		plain.Rounds[i].OnLinks = nil
	}
	s, out = screen(t)
	if err := s.reportScreen(s.stdout, plain); err != nil || strings.Contains(out.String(), "link") {
		t.Errorf("%v: nobody has a link:\n%s", err, out.String())
	}
}

// TestCrowdReportInvalid: a report of a run that is not valid ends like the run.
func TestCrowdReportInvalid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	if err := newSession(processEnv{getenv: func(string) string { return "" }, stderr: &strings.Builder{}}).writeReport(file, crowdReport()); err != nil {
		t.Fatal(err)
	}
	got := call(t, "crowd", "report", file)
	if got.code != 1 || !strings.Contains(got.stderr, "round 1 in mode routed: the crowd itself was late") || !strings.Contains(got.stdout, "web.page p50") {
		t.Errorf("%+v", got)
	}
}

// TestCrowdRunRefuses: what is wrong with the flags is said before anything is made.
func TestCrowdRunRefuses(t *testing.T) {
	file := scenarioFile(t, players)
	device := filepath.Join(t.TempDir(), "null")
	if err := os.Symlink(os.DevNull, device); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"it is empty":         {"--modes", ""},
		"there twice":         {"--modes", "bridge,routed,bridge"},
		"of their own":        {"--modes", "bridge,host"},
		"no mode \"warp\"":    {"--modes", "warp"},
		"none of 1 to 1000":   {"--rounds", "0"},
		"no regular file":     {"--out", device},
		"no such file":        {"--out", filepath.Join(t.TempDir(), "none", "report.json")},
		"own file":            {"--out", file},
		"has its mode":        {"--network", "web", "--modes", "bridge"},
		"none of 1 to 1000 ":  {"--network", "web", "--rounds", "1001"},
		"0 is no number of u": {"--users", "0"},
	} {
		got := call(t, append([]string{"crowd", "run", file}, args...)...)
		if got.code != 2 || !strings.Contains(got.stderr, strings.TrimSpace(want)) || got.stdout != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
