package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// TestEvents: a run with other events is another run; what was given by hand is told of a comparison.
func TestEvents(t *testing.T) {
	down := scenario.Event{At: time.Minute, For: time.Minute, Service: "mail", Fault: scenario.Down}
	silent := scenario.Event{At: time.Minute, For: time.Minute, Service: "mail", Fault: scenario.Silent}
	first := Report{Modes: []string{"bridge"}, Events: []scenario.Event{down, silent}, Rounds: []Round{one(1, "bridge", "", 100), one(2, "bridge", "", 100)}}
	second := first
	second.Events = []scenario.Event{silent, down}
	second.Rounds = []Round{one(1, "bridge", "", 100)}
	second.Rounds[0].Events = []diary.Event{{Event: down, Number: 2}, {Event: silent, ByHand: true, Began: 5, Ended: 7}}
	if err := Resumable(first, second); err != nil {
		t.Errorf("their order is no difference: %v", err)
	}
	if first.Happened(2) != 0 || second.Happened(2) != 1 || second.Happened(1) != 0 {
		t.Error("events happened that did not, or did not happen")
	}
	if got := strings.Join(Compare(first, second).Warnings, "|"); got != "only the second has, by hand, in round 1, mode bridge: service mail silent" {
		t.Error(got)
	}
	second.Rounds[0].Scales = []diary.Scale{{From: 20, To: 30, Began: 5, Took: 7}, {From: 30, To: 99, Failed: "no"}}
	if got := strings.Join(Compare(second, first).Warnings[1:], "|"); got != "only the first was scaled, in round 1, mode bridge: 20 users, then 30|only the first was scaled, in round 1, mode bridge: 30 users, then 30" {
		t.Error(got)
	}
	second.Rounds[0].Scales = nil
	second.Events = second.Events[:1]
	want := "event: service mail down at 1m for 1m, then none"
	if got := Compare(first, second).Warnings; len(got) != 2 || got[0] != want {
		t.Errorf("%q", got)
	}
	if err := Resumable(first, second); !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	if err := Resumable(second, first); err == nil || !strings.Contains(err.Error(), "event: none, then service mail down at 1m for 1m") {
		t.Error(err)
	}
}
