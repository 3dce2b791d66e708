package classifier

import (
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// TestMeasure: what a step takes by itself is measured so that the network's time drops out.
func TestMeasure(t *testing.T) {
	steps := []plan.Step{
		{Do: "mail.login", Connections: 1, Keep: true, Expect: time.Second},
		{Do: "mail.check", Expect: time.Second},
		{Pause: 2 * time.Second, Do: "web.page", Mistake: scenario.MistakeName, Expect: time.Second},
		{Pause: time.Second, Do: "web.page", Connections: 2, Lasts: 10 * time.Second},
		{Pause: 3 * time.Second, Do: "video.play", Every: time.Second, Lasts: time.Minute, Connections: 1},
		{Pause: time.Second, Do: "voice.call", Every: 20 * time.Millisecond, Lasts: time.Hour},
		{Pause: time.Second, Do: "mail.check"},
	}
	of := scenario.Scenario{Clock: scenario.Clock{Length: scenario.Span(2 * time.Minute)}}
	h := network{}.lay(plan.Session{User: 1, Start: time.Second, Steps: steps}, of)
	got := h.measure()
	want := []Step{
		{Do: "mail.login", Flows: 1},
		{Do: "mail.check"}, // by the connection that is kept
		{Do: "web.page (name)", Mistake: "name", Pause: 2 * time.Second},
		{Do: "web.page", Pause: time.Second, Flows: 2},
		{Do: "video.play", Pause: 13 * time.Second, Lasted: time.Minute, Flows: 1}, // the page takes 10 s by itself
		{Do: "voice.call", Pause: time.Second, Lasted: 2*time.Minute - 81*time.Second, Flows: 1},
		{Do: "mail.check", Pause: time.Second, Flows: 0},
	}
	if got.Begun != time.Second || got.Cut || !slices.Equal(got.Steps, want) {
		t.Errorf("%+v", got)
	}
	for i := range h.steps { // all answers take a second more, and the crowd is 9 ms late
		h.steps[i].Begun += time.Duration(i) * time.Second
		h.steps[i].Ended += time.Duration(i+1) * time.Second
		if h.Steps[i].Lasts > 0 {
			h.steps[i].Ended -= time.Second
			for j := i + 1; j < len(h.steps); j++ {
				h.steps[j].Begun -= time.Second
				h.steps[j].Ended -= time.Second
			}
		}
		for j := i; j < len(h.steps); j++ {
			h.steps[j].Begun += 9 * time.Millisecond
			h.steps[j].Ended += 9 * time.Millisecond
		}
	}
	if got := h.measure(); !slices.Equal(got.Steps, want) {
		t.Errorf("%+v", got)
	}
	late := network{}.lay(plan.Session{Start: 3 * time.Minute, Steps: steps[4:6]}, of).measure()
	if !late.Cut || len(late.Steps) != 1 || late.Steps[0].Lasted != 0 {
		t.Errorf("%+v", late)
	}
}

// TestFlows: over HTTP/2 a step opens one flow, however many connections are planned.
func TestFlows(t *testing.T) {
	of := scenario.Scenario{Clock: scenario.Clock{Length: scenario.Span(time.Minute)},
		Services: map[string]scenario.Service{"web": {Server: scenario.Server{By: "nginx", TLS: true, HTTP: 2}}, "files": {Server: scenario.Server{By: "nginx", TLS: true}}}}
	h := network{}.lay(plan.Session{User: 1, Steps: []plan.Step{{Do: "web.page", Connections: 6, Keep: true}, {Do: "web.page"}, {Do: "files.get", Connections: 6},
		{Do: "files.get", Cache: &plan.Cache{Page: 1, Fresh: []int{0}}}, {Do: "files.get", Receives: []int64{0}, Connections: 1, Cache: &plan.Cache{Page: 1, Unchanged: []int{0}}}}}, of)
	if want := []int{1, 0, 6, 0, 1}; !slices.Equal(h.flows, want) {
		t.Errorf("flows %v, expected %v", h.flows, want)
	}
}
