package plan_test

import (
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// TestIndependent: no two users, and no two behaviours of one, have draws in common.
func TestIndependent(t *testing.T) {
	s := parse(t, `
crowd: twins
users: 30
clock: {start: "Mon 10:00", length: 1h}
personas: {twin: {share: 1, does: {mail: 6/h, call: 6/h, print: 6/h}}}
`)
	starts, patience := map[time.Duration]bool{}, map[time.Duration]bool{}
	for _, one := range sessions(t, s) {
		if starts[one.Start] {
			t.Errorf("two sessions begin at %v", one.Start)
		}
		if one.Behaviour == "mail" && patience[one.Patience] {
			t.Errorf("two sessions have the patience %v", one.Patience)
		}
		starts[one.Start], patience[one.Patience] = true, true
	}
	if len(starts) < 400 {
		t.Errorf("%d sessions", len(starts))
	}
}

// TestEnd: each step begins before the crowd's end, also where those before take their time; none is planned that does
// not.
func TestEnd(t *testing.T) {
	for _, name := range scenario.Examples() {
		s := example(t, name)
		late := 0
		for _, one := range sessions(t, s) {
			begins, end := one.Begins()
			for _, at := range begins {
				if one.Start+at >= time.Duration(s.Clock.Length) {
					t.Errorf("%s: user %d begins a step at %v", name, one.User, one.Start+at)
				}
			}
			if one.Start+end > time.Duration(s.Clock.Length) {
				late++
			}
		}
		if late == 0 {
			t.Errorf("%s: nothing goes on when the crowd ends", name)
		}
	}
}

// TestCut: a session has so many steps at most.
func TestCut(t *testing.T) {
	s := parse(t, `
crowd: typists
users: 10
clock: {start: "Mon 10:00", length: 4h}
personas: {typist: {share: 1, does: {type: 1/h}}}
behaviours:
  type:
    start: key
    states:
      key: {do: shell.key, expect: 1ms, think: 100ms, next: {key: 0.9999, end: 0.0001}}
`)
	_, sum := drawn(t, s)
	longest := 0
	for _, one := range sessions(t, s) {
		longest = max(longest, len(one.Steps))
	}
	if longest != scenario.MaxSteps || sum.Cut == 0 {
		t.Errorf("the longest session has %d steps, and %d are cut off", longest, sum.Cut)
	}
}

// TestCutPauses: a session has so many states at most, if all that it does is to wait. One that waits until the crowd
// ends is not cut off.
func TestCutPauses(t *testing.T) {
	for think, want := range map[string]bool{"1ms": true, "1h": false} {
		s := parse(t, `
crowd: waiters
users: 10
clock: {start: "Mon 10:00", length: 4h}
personas: {waiter: {share: 1, does: {wait: 1/h}}}
behaviours:
  wait:
    start: wait
    states:
      wait: {think: `+think+`, next: {wait: 0.99999, end: 0.00001}}
`)
		_, sum := drawn(t, s)
		if sum.Cut > 0 != want || sum.Total.Sessions > 0 {
			t.Errorf("who waits %s: %d sessions are cut off, %d have steps", think, sum.Cut, sum.Total.Sessions)
		}
	}
}

// TestEndIsNoCut: a session whose time ends just when it has all the steps that it may have is not cut off.
func TestEndIsNoCut(t *testing.T) {
	s := parse(t, `
crowd: typists
users: 300
clock: {start: "Mon 10:00", length: 20m}
personas: {typist: {share: 1, does: {type: 1/h}}}
behaviours:
  type:
    start: key
    states:
      key: {do: shell.key, expect: 1s, think: 200ms, next: {key: 0.99999, end: 0.00001}}
`)
	_, sum := drawn(t, s)
	for _, one := range sessions(t, s) { // 1000 steps take 20 minutes
		if len(one.Steps) > 950 && sum.Cut == 0 {
			return
		}
	}
	t.Errorf("%d sessions are cut off, or none is long", sum.Cut)
}

// TestMistakes: a wrong password is sent and answered once, and a wrong name is not sent.
func TestMistakes(t *testing.T) {
	s := parse(t, `
crowd: mistaken
users: 10
clock: {start: "Mon 10:00", length: 1h}
personas: {clerk: {share: 1, does: {open: 6/h}}}
behaviours:
  open:
    start: open
    states:
      open:
        do: files.get
        sends: 70
        receives: 1MB
        expect: 1s
        mistakes: {name: {chance: 1, again: 1s}, password: {chance: 1, again: 1s}}
        next: {end: 1}
`)
	seen := map[string]int{}
	for _, one := range sessions(t, s) {
		for _, step := range one.Steps {
			sent, received := step.Bytes()
			want := map[string][4]int64{"name": {0, 0, 0, 0}, "password": {1, 1, 70, 256}, "": {1, 1, 70, 1e6}}[step.Mistake]
			if got := [4]int64{int64(step.Connections), step.Requests(), sent, received}; got != want {
				t.Errorf("mistake %q: %v, and not %v", step.Mistake, got, want)
			}
			seen[step.Mistake]++
		}
	}
	if len(seen) != 3 {
		t.Errorf("%v", seen)
	}
}

// TestKept: a connection that is kept is open until its session ends, and others until their step ends.
func TestKept(t *testing.T) {
	peak := map[string]plan.Peak{}
	for _, kept := range []string{"true", "false"} {
		s := parse(t, `
crowd: idlers
users: 500
clock: {start: "Mon 10:00", length: 20m}
personas: {idler: {share: 1, does: {idle: 6/h}}}
behaviours:
  idle:
    start: login
    states:
      login: {do: mail.login, expect: 1s, keep: `+kept+`, think: 200s, next: {check: 1}}
      check: {do: mail.check, expect: 1s, connections: 0, next: {end: 1}}
`)
		_, sum := drawn(t, s)
		peak[kept] = sum.Peak
	}
	// 500 users begin 6 sessions an hour, of 202 s each: 168 go on at once, and 1 logs in.
	if p := peak["true"]; p.Connections < 140 || p.Connections > 220 || p.Connections > p.Sessions {
		t.Errorf("kept: %+v", p)
	}
	// A connection is tracked for two minutes more, and holds a port for one: 100 and 50 of them.
	p := peak["false"]
	if p.Connections > 12 || p.Neighbours <= p.Connections || p.Neighbours > p.Ports || p.Tracked < 85 || p.Tracked > 150 || p.Ports < 40 || p.Ports > 90 {
		t.Errorf("not kept: %+v", p)
	}
}
