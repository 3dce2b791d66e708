package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/tally"
)

// answers is an author that is a function.
type answers func(plan.Question) (string, error)

func (a answers) Ask(_ context.Context, _ string, _ scenario.Behaviour, question []byte) ([]byte, error) {
	var q plan.Question
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, err
	}
	line, err := a(q)
	return []byte(line), err
}

// TestScriptFails: sessions of a script that fails while the crowd plays never begin, and the player says why. All others go on.
func TestScriptFails(t *testing.T) {
	s, err := scenario.Parse([]byte(`
crowd: scripted
users: 8
clock: {start: "Mon 09:00", length: 2s}
personas:
  one: {share: 100%, does: {play: 30/m, pause: 30/m}}
behaviours:
  play: {actions: [web.page], steps: 1, script: "#!/bin/sh"}
  pause:
    start: page
    states:
      page: {do: web.page, sends: 300B, receives: 1KB, expect: 5ms, next: {end: 1}}
`))
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("it is broken")
	var asked, bears atomic.Int64
	bears.Store(1 << 30)
	p := plan.New(s, answers(func(q plan.Question) (string, error) {
		if asked.Add(1) > bears.Load() {
			return "", broken
		}
		return fmt.Sprintf(`{"seed": %d, "steps": [{"do": "web.page", "sends": 9, "receives": [90], "expect": 1000000}]}`, q.Seed), nil
	}))
	starts, err := p.Starts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	play := int64(0)
	for _, at := range starts {
		if p.Behaviour(at) == "play" {
			play++
		}
	}
	bears.Store(asked.Load() + 2)
	intended := map[string]int64{"play": play, "pause": int64(len(starts)) - play}
	w, count := newTown(t, s.Uses()...), tally.New(intended)
	users := make([]Seat, s.Users)
	for i := range users {
		users[i] = w.user
	}
	player := New(Options{Plan: p, Users: users, Services: w.services, Length: time.Duration(s.Clock.Length), Grace: time.Second, Tally: count}, starts)
	player.Play(t.Context())
	r := count.Result()
	if got := r.Behaviours["play"]; play < 5 || got.Started != 2 || got.Achieved != 2 || got.Intended != play {
		t.Errorf("%+v, of %d", got, play)
	}
	if got := r.Behaviours["pause"]; got.Achieved != got.Intended || got.Intended < 5 {
		t.Errorf("%+v", got)
	}
	if err := player.Failed(); !errors.Is(err, broken) {
		t.Error(err)
	}
}
