package report

import (
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/capture"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/tally"
	"github.com/heddle-network/heddle/impair"
)

// partReport is that of a part of three, in which so many waited for so long.
func partReport(t *testing.T, number, steps int, waited time.Duration) Report {
	t.Helper()
	count := tally.New(map[string]int64{"read": int64(steps)})
	for range steps {
		count.Step("web.page", tally.Achieved, waited, waited)
	}
	sheet, err := count.Sheet()
	if err != nil {
		t.Fatal(err)
	}
	return Report{Crowd: "people", Users: 12, SHA256: "ab", Modes: []string{"overlay"}, Part: &Part{machine.Part{Number: number, Of: 3}, time.Unix(1000, 0)},
		Rounds: []Round{{Number: 1, Round: round.Round{Network: "n", Mode: "overlay", Users: 4, Attached: time.Duration(number), Processor: 0.5, MemoryPerUser: int64(100 * number), Sheet: &sheet, Result: count.Result(),
			OnLinks: &link.Count{Count: impair.Count{Frames: 10}, Missed: 1}, Captured: &capture.Count{Packets: 5}, Clock: &machine.Clock{Ahead: time.Duration(1-number) * time.Millisecond},
			Events: []diary.Event{{Event: scenario.Event{Service: "web"}, Number: 1, Began: time.Duration(10 * number), Ended: time.Duration(100 * number)}, {ByHand: true, Began: 7}}}}}}
}

// TestMerge: what parts have counted is added; quantiles are those of all.
func TestMerge(t *testing.T) {
	all := []Report{partReport(t, 3, 1, time.Second), partReport(t, 1, 98, time.Millisecond), partReport(t, 2, 1, 2*time.Second)}
	r, err := Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	one := r.Rounds[0]
	page := one.Actions["web.page"].Planned
	if page.Count != 100 || page.P50.Round(time.Millisecond) != time.Millisecond || page.P90.Round(time.Millisecond) != time.Millisecond || page.P99.Round(10*time.Millisecond) != time.Second || page.Max != 2*time.Second ||
		one.Sessions().Intended != 100 {
		t.Errorf("%+v", page)
	}
	if one.Users != 12 || one.Attached != 3 || one.Processor != 1.5 || one.MemoryPerUser != 200 || one.OnLinks.Frames != 30 || one.OnLinks.Missed != 3 || one.Captured.Packets != 15 || one.Clock.Ahead != -2*time.Millisecond {
		t.Errorf("%+v", one)
	}
	if len(one.Events) != 4 || one.Events[3].Began != 10 || one.Events[3].Ended != 300 {
		t.Errorf("%+v", one.Events)
	}
	if r.Partial != "" || one.Invalid != "" || r.UserWords() != "namespaces on 3 machines" || all[0].Part.Number != 3 || all[0].Rounds[0].Users != 4 {
		t.Errorf("%+v; %q", r, r.UserWords())
	}
}

// TestMergePartial: it is said what is missing, and what ended early.
func TestMergePartial(t *testing.T) {
	one, three := partReport(t, 1, 1, 1), partReport(t, 3, 1, 1)
	three.Partial, three.Rounds[0].Invalid, three.Rounds[0].Early = "interrupted", "it was broken off", []string{"part 2/3 ended"}
	one.Rounds[0].Early = []string{"part 2/3 ended"}
	r, err := Merge([]Report{one, three})
	if err != nil {
		t.Fatal(err)
	}
	if r.Partial != "part 3/3: interrupted; the report of part 2/3 is missing" || r.Rounds[0].Invalid != "part 3/3: it was broken off; the report of part 2/3 is missing" || r.Valid("overlay") ||
		len(r.Rounds[0].Early) != 1 || r.UserWords() != "namespaces on 3 machines, of 2 parts alone" {
		t.Errorf("%+v", r)
	}
	if r, err := Merge([]Report{one}); err != nil || r.Partial != "the reports of parts 2/3, 3/3 are missing" || one.UserWords() != "namespaces on 3 machines, of part 1/3 alone" {
		t.Errorf("%q, %v", r.Partial, err)
	}
}

// TestMergeRefuses: reports that are not those of different parts of one run are not added.
func TestMergeRefuses(t *testing.T) {
	for why, change := range map[string]func(*Report){
		"is not that of a part":           func(r *Report) { r.Part = nil },
		"report 2 is not that of":         func(r *Report) { r.Merged = []int{1, 2} },
		"lacks what is needed":            func(r *Report) { r.Rounds[0].Sheet = nil },
		"report 2 lacks":                  func(r *Report) { r.Part.Number = 4 },
		"in 3 parts, and in 4":            func(r *Report) { r.Part.Of = 4 },
		"one began at":                    func(r *Report) { r.Part.Begin = r.Part.Begin.Add(time.Second) },
		"part 1/3 is there twice":         func(r *Report) { r.Part.Number = 1 },
		"sha256: ab, then cd":             func(r *Report) { r.SHA256 = "cd" },
		"seed: 0, then 1":                 func(r *Report) { r.Seed = 1 },
		"link of clerk":                   func(r *Report) { r.Links = map[string]scenario.Link{"clerk": {}} },
		"service web":                     func(r *Report) { r.Services = map[string]Service{"web": {By: "nginx"}} },
		"network: n in mode overlay":      func(r *Report) { r.Rounds[0].Network = "m" },
		"merge report of part 2/3":        func(r *Report) { r.Rounds[0].Sheet.Lag.Counts = "nonsense" },
		"event: none, then 0% begin read": func(r *Report) { r.Events = []scenario.Event{{Gather: "read"}} },
	} {
		a, b := partReport(t, 1, 1, 1), partReport(t, 2, 1, 1)
		change(&b)
		if r, err := Merge([]Report{a, b}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, %+v", why, err, r)
		}
	}
	if _, err := Merge(nil); err == nil {
		t.Error("nothing is merged")
	}
}
