package main

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
		if number == 2 {
			r.Ended = map[string]string{"web": "nginx ended: signal: killed"}
		}
		r.Failures = []tally.Failure{{Why: "web.page: connection refused", Count: 1}}
		return report.Round{Number: number, Round: r}
	}
	late := "the crowd itself was late: p99 12ms, and 10ms is allowed"
	return report.Report{Crowd: "office", Seed: 7, Users: 1000, Length: time.Minute, SHA256: strings.Repeat("4f5c", 16),
		Modes: []string{"bridge", "routed", "ipvlan"}, LeftOut: map[string]string{"ipvlan": "mode ipvlan does not work here"},
		Services: map[string]report.Service{"chat": {}, "voice": {}, "web": {By: "nginx", Version: "1.22.1", TLS: true}},
		Links:    map[string]scenario.Link{"remote": {Rate: 20e6, Impairment: impair.Impairment{Delay: 30 * time.Millisecond, Loss: 0.005}}},
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
	if err := writeReport(file, crowdReport()); err != nil {
		t.Fatal(err)
	}
	got := call(t, "crowd", "report", file)
	if got.code != 1 || !strings.Contains(got.stderr, "round 1 in mode routed: the crowd itself was late") || !strings.Contains(got.stdout, "web.page p50") {
		t.Errorf("%+v", got)
	}
}

// TestCrowdFailIf: conditions end a report, and a comparison, with exit code 1; what they cannot be about, with 2.
func TestCrowdFailIf(t *testing.T) {
	good := crowdReport()
	good.Rounds = slices.DeleteFunc(good.Rounds, func(r report.Round) bool { return r.Invalid != "" })
	slow := crowdReport()
	for i := range slow.Rounds {
		slow.Rounds[i].Invalid = ""
	}
	files := map[string]report.Report{"a": good, "b": slow}
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	a, b, other := at("a"), at("b"), at("other")
	for file, r := range map[string]report.Report{a: files["a"], b: files["b"], other: {Crowd: "other", SHA256: "x", Modes: good.Modes, Rounds: good.Rounds}} {
		if err := writeReport(file, r); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"report A --fail-if achieved<50%":                    "",
		"report A --fail-if p50{action=web.page}>1ms":        "1 bridge web.page p50 has 1.8ms",
		"report B --fail-if low-ratio-bridge{mode=routed}>2": "1 routed web.page p50 has 4",
		"report A --fail-if speed>1":                         "2 unknown metric",
		"report A --fail-if ratio-bridge{mode=routed}>1":     "2 no round",
		"compare A B":                                            "",
		"compare A A --fail-if regression>1%":                    "",
		"compare A B --fail-if regression{mode=routed}>1%":       "2 chooses nothing",
		"compare A OTHER":                                        "2 they are of different plans: seed: 7, then 0",
		"compare A OTHER --anyway":                               "",
		"compare A none.json":                                    "2 no such file",
		"run FILE --fail-if ratio-overlay>1 --modes bridge":      "2 unknown metric",
		"compare A B --fail-if sure-regression{figure=memory}>x": "2 is not a number",
	} {
		args := append([]string{"crowd"}, strings.Fields(strings.NewReplacer(" A", " "+a, " B", " "+b, " OTHER", " "+other, " FILE", " "+scenarioFile(t, players)).Replace(line))...)
		got := call(t, args...)
		code, said, _ := strings.Cut(want, " ")
		if strconv.Itoa(got.code) != cmp.Or(code, "0") || !strings.Contains(got.stderr, said) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	shown := call(t, "crowd", "compare", a, b)
	for _, want := range []string{"differs: only the second has mode routed", "bridge   web.page p50", "too few rounds"} {
		if !strings.Contains(shown.stdout, want) {
			t.Errorf("%q is not in\n%s", want, shown.stdout)
		}
	}
	var c report.Comparison
	if err := json.Unmarshal([]byte(call(t, "crowd", "compare", a, b, "-o", "json").stdout), &c); err != nil || len(c.Changes) < 10 || c.Changes[0].Figure != "achieved" {
		t.Errorf("%v, %+v", err, c)
	}
	t.Log(shown.stdout)
}

// TestCrowdRunRefuses: what is wrong with the flags is said before anything is made.
func TestCrowdRunRefuses(t *testing.T) {
	file := scenarioFile(t, players)
	device := filepath.Join(t.TempDir(), "null")
	if err := os.Symlink(os.DevNull, device); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"it is empty":               {"--modes", ""},
		"there twice":               {"--modes", "bridge,routed,bridge"},
		"of their own":              {"--modes", "bridge,host"},
		"no mode \"warp\"":          {"--modes", "warp"},
		"none of 1 to 1000":         {"--rounds", "0"},
		"no regular file":           {"--out", device},
		"no such file":              {"--out", filepath.Join(t.TempDir(), "none", "report.json")},
		"own file":                  {"--out", file},
		"has its mode":              {"--network", "web", "--modes", "bridge"},
		"none of 1 to 1000 ":        {"--network", "web", "--rounds", "1001"},
		"there is no --network":     {"--as", "docker"},
		"none of what users may be": {"--network", "web", "--as", "jail"},
		"0 is no number of u":       {"--users", "0"},
		"0 is none of 1 to 16":      {"--hosts", "0"},
		"17 is none of 1 to 16":     {"--hosts", "17"},
		"played on from this host":  {"--network", "web", "--hosts", "2"},
		"on two hosts do not reach": {"--hosts", "2", "--modes", "overlay,bridge"},
		"file exists":               {"--diary", file},
		"there is no --out":         {"--resume"},
		"file of --out":             {"--out", device + "2", "--diary", device + "2"},
	} {
		got := call(t, append([]string{"crowd", "run", file}, args...)...)
		if got.code != 2 || !strings.Contains(got.stderr, strings.TrimSpace(want)) || got.stdout != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// TestCrowdResume: all valid rounds of the same plan and links are kept.
func TestCrowdResume(t *testing.T) {
	earlier := crowdReport()
	file := filepath.Join(t.TempDir(), "report.json")
	if err := writeReport(file, earlier); err != nil {
		t.Fatal(err)
	}
	next := func(resume bool, rounds int, modes ...string) (report.Report, error) {
		out := report.Report{SHA256: crowdReport().SHA256, Seed: earlier.Seed, Users: earlier.Users, Length: earlier.Length, Links: earlier.Links, Services: earlier.Services, Modes: modes, LeftOut: map[string]string{}}
		f := runFlags{resume: resume, rounds: rounds}
		f.out = file
		err := f.goOn(&out)
		return out, err
	}
	got, err := next(true, 3, "bridge", "routed", "ipvlan")
	if err != nil || len(got.Rounds) != 2 || !got.Has("bridge", 1) || !got.Has("bridge", 2) || got.Has("routed", 1) || got.LeftOut["ipvlan"] != "" {
		t.Errorf("%v, %+v", err, got)
	}
	if got, err := next(true, 1, "macvlan"); err != nil || len(got.Rounds) != 2 || !slices.Equal(got.Modes, []string{"macvlan", "bridge"}) || len(got.LeftOut) > 0 {
		t.Errorf("%v, %+v", err, got)
	}
	if got, err := next(false, 3, "bridge"); err != nil || len(got.Rounds) > 0 {
		t.Errorf("%v, %+v", err, got)
	}
	earlier.SHA256 = "of another plan"
	if err := writeReport(file, earlier); err != nil {
		t.Fatal(err)
	}
	if _, err := next(true, 3, "bridge"); err == nil || !strings.Contains(err.Error(), "of another run") {
		t.Errorf("%v", err)
	}
	os.Remove(file)
	if got, err := next(true, 3, "bridge"); err != nil || len(got.Rounds) > 0 {
		t.Errorf("%v, %+v", err, got)
	}
}
