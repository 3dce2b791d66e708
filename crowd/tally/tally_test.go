package tally

import (
	"reflect"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestTally(t *testing.T) {
	a := New(map[string]int64{"browse": 3, "call": 2})
	a.Begin("browse", ms)
	a.Begin("browse", 2*time.Second)
	a.Begin("call", 0)
	a.End("browse", Achieved)
	a.End("browse", GivenUp)
	a.End("call", Unfinished)
	for _, took := range []time.Duration{500 * ms, 1000 * ms, 1001 * ms, 4000 * ms, 4001 * ms, 2 * time.Hour} {
		a.Step("web.page", Achieved, took, took-100*ms)
	}
	a.Step("web.page", GivenUp, 10*ms, 10*ms)
	a.Step("web.page", Failed, ms, ms)
	a.Step("web.page", Unfinished, ms, ms)
	a.Step("domain.ticket", Achieved, ms, ms)
	a.Lag(-ms)
	a.Lag(3 * ms)
	for range 1000 {
		a.Frame(0)
	}
	a.Paced(5 * ms)
	a.Failure("refused")
	a.Failure("broken")
	a.Failure("refused")
	a.Call(93.2, 4.41, 0)
	a.Call(50, 2.58, 0.5)
	a.Video(300*ms, 2, time.Second, 9*time.Second)
	a.Video(100*ms, 0, 0, time.Second)
	if r := a.Result(); len(r.Caches) > 0 {
		t.Errorf("nobody has a cache, and %+v were there", r.Caches)
	}
	a.Page("browse", Objects{Fresh: 3, New: 2, Saved: 30, Got: 20})
	a.Page("browse", Objects{Unchanged: 1, Changed: 4, Saved: 5, Got: 40})
	r := a.Result()
	if o := r.Caches["browse"]; o != (Objects{Fresh: 3, Unchanged: 1, Changed: 4, New: 2, Saved: 35, Got: 60}) || o.All() != 10 {
		t.Errorf("%+v", o)
	} else if share, ok := o.Hits(); share != 0.4 || !ok {
		t.Errorf("%v, %v", share, ok)
	}
	if want := (map[string]Sessions{"browse": {Intended: 3, Started: 2, Late: 1, Achieved: 1, GivenUp: 1},
		"call": {Intended: 2, Started: 1, Unfinished: 1}}); !reflect.DeepEqual(r.Behaviours, want) {
		t.Errorf("%+v", r.Behaviours)
	}
	page := r.Actions["web.page"]
	if page.Count != 9 || page.Failed != 1 || page.GivenUp != 1 || page.Unfinished != 1 || page.Planned.Count != 7 ||
		page.Apdex != 3.0/8 || page.Planned.Max < time.Hour || page.Planned.Max > 61*time.Minute {
		t.Errorf("%+v", page)
	}
	if differs(page.Planned.P50, 1001*ms) || differs(page.Service.P50, 901*ms) {
		t.Errorf("%+v, %+v", page.Planned, page.Service)
	}
	if r.Actions["domain.ticket"].Apdex != -1 {
		t.Error("an action without a target has a score")
	}
	if r.Lag.Count != 2 || differs(r.Lag.Max, 3*ms) {
		t.Errorf("%+v", r.Lag)
	}
	if r.Frames.Count != 1000 || r.Paced.Count != 1 || differs(r.Late(), 5*ms) {
		t.Errorf("many frames in time hide that the crowd was late: %s, %+v, %+v", r.Late(), r.Paced, r.Frames)
	}
	a.Frame(time.Second)
	for range 20 {
		a.Frame(7 * ms)
	}
	if late := a.Result().Late(); differs(late, 7*ms) {
		t.Errorf("late with frames: %s", late)
	}
	if want := []Failure{{"refused", 2}, {"broken", 1}}; !reflect.DeepEqual(r.Failures, want) {
		t.Errorf("%+v", r.Failures)
	}
	if c := r.Calls; c.Count != 2 || c.Lost != 0.25 || c.MOSP10 < 2.57 || c.MOSP10 > 2.59 || c.RP10 < 49.9 || c.RP10 > 50.1 {
		t.Errorf("%+v", c)
	}
	if v := r.Videos; v.Count != 2 || v.Stalls != 2 || v.Stalled != 0.1 || differs(v.Start.Max, 300*ms) {
		t.Errorf("%+v", v)
	}
}

// TestLeft: who was taken away does not count for or against the network, and what is intended changes with who is there.
func TestLeft(t *testing.T) {
	a := New(map[string]int64{"browse": 3})
	for range 3 {
		a.Begin("browse", ms)
	}
	a.End("browse", Achieved)
	a.End("browse", Left)
	a.Intend("browse", 2)
	a.Intend("browse", -1)
	a.Intend("call", 1)
	r := a.Result()
	if want := (Sessions{Intended: 4, Started: 3, Achieved: 1, Left: 1}); r.Behaviours["browse"] != want || r.Behaviours["browse"].GoOn() != 1 {
		t.Errorf("%+v", r.Behaviours)
	}
	if share, ok := r.Behaviours["browse"].Share(); !ok || share != 1.0/3 {
		t.Errorf("%v, %v", share, ok)
	}
	if share, ok := (Sessions{Intended: 2, Left: 2}).Share(); ok {
		t.Errorf("of none, %v are achieved", share)
	}
	if sum := r.Sessions(); sum.Intended != 5 || sum.Left != 1 {
		t.Errorf("%+v", sum)
	}
}

// differs reports whether a duration is not another one, to three digits.
func differs(a, b time.Duration) bool { return a < b-b/500 || a > b+b/500 }
