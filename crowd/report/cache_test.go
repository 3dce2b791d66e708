package report

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/crowd/tally"
)

// TestCaches: a report says of each behaviour with a cache what it had, and conditions may name that.
func TestCaches(t *testing.T) {
	r := Report{Modes: []string{"bridge"}, Rounds: []Round{{Number: 1, Round: round.Round{Mode: "bridge", Result: tally.Result{
		Behaviours: map[string]tally.Sessions{"browse": {Intended: 1, Achieved: 1}, "idle": {}},
		Caches:     map[string]tally.Objects{"browse": {Fresh: 5, Unchanged: 1, Changed: 1, New: 3, Saved: 700, Got: 300}, "idle": {}}}}}}}
	want := map[string]float64{"cache-hits": 0.6, "cache-fresh": 5, "cache-unchanged": 1, "cache-changed": 1, "cache-new": 3, "cache-saved": 700, "cache-got": 300}
	for _, f := range caches(r) {
		v, has := f.Value(r.Rounds[0])
		if f.Behaviour == "idle" && has || f.Behaviour == "browse" && (!has || v != want[f.Metric]) {
			t.Errorf("%s: %v, %v", f.Label, v, has)
		}
		if f.Behaviour == "browse" {
			delete(want, f.Metric)
		}
	}
	if len(want) > 0 {
		t.Errorf("the report does not have %v", want)
	}
	text := func(f Figure, _ float64) string { return f.Label }
	check := func(expr string) error {
		all, err := ParseLimits(expr, r.Known())
		if err != nil {
			t.Fatal(err)
		}
		return r.Check(all, text)
	}
	if err := check("cache-hits{behaviour=browse}<60% and cache-saved{behaviour=browse}<700B"); err != nil {
		t.Error(err)
	}
	if err := check("cache-hits{behaviour=browse}<61%"); err == nil || !strings.Contains(err.Error(), "bridge browse, hits has 0.6") {
		t.Error(err)
	}
	if _, err := ParseLimits("cache-hits{behaviour=browsing}<61%", r.Known()); err == nil || !strings.Contains(err.Error(), "there is no behaviour") {
		t.Error(err)
	}
	none := Report{Modes: []string{"bridge"}, Rounds: []Round{one(1, "bridge", "", 100)}}
	if all := caches(none); len(all) > 0 {
		t.Errorf("without a cache there is %v", all[0].Label)
	}
}
