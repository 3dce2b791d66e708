package classifier

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// busy is a crowd of two personas with enough sessions of each behaviour.
const busy = `crowd: busy
users: 120
clock: {start: "Mon 10:00", length: 5m}
personas:
  clerk: {share: 60%, does: {mail: 20/h, chat: 20/h, search: 20/h, read: 20/h, refresh: 60/h}}
  engineer: {share: 40%, does: {mail: 15/h, chat: 15/h, search: 25/h, read: 15/h, refresh: 60/h}}
behaviours:
  read:
    start: open
    states:
      open: {do: files.get, receives: 4KB, expect: 1s, next: {look: 1}}
      look: {think: {lognormal: {median: 8s, sigma: 1}, per-user: 0.4}, next: {open: 0.8, end: 0.2}}
  refresh: {start: refresh, states: {refresh: {do: domain.refresh, sends: 1KB, receives: 1KB, expect: 50ms, next: {end: 1}}}}
`

func parsed(t *testing.T, text string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drawn are the sessions of a crowd that is never late, on a sound network.
func drawn(t *testing.T, s scenario.Scenario, seed uint64) []Session {
	t.Helper()
	all, err := network{}.draw(t.Context(), s, seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// tried is what the test says of two crowds.
func tried(t *testing.T, first, second []Session, seed uint64) trial {
	t.Helper()
	r, err := try(first, second, newTable(first, second), draw.NewStream(seed, "test"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// acted lays out what a crowd does on a sound network, changes it, and writes it as a run would, in the order of time.
func acted(t *testing.T, s scenario.Scenario, change func(*happened)) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "diary")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := &diary.Recorder{To: f}
	r.Write(diary.Line{Run: &diary.Run{Crowd: s.Name, Seed: s.Seed, Users: s.Users, Scenario: string(s.Text)}})
	r.Begin(diary.Round{Number: 1, Mode: "bridge"})
	for number := 1; number <= s.Users; number++ {
		d, err := plan.New(s, nil).User(t.Context(), number)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range d.Sessions {
			h := network{}.lay(one, s)
			if change != nil {
				change(&h)
			}
			for i, step := range h.steps {
				for range h.flows[i] {
					r.Open(diary.Flow{Where: step.Where, Do: step.Do})()
				}
				r.Open(diary.Flow{Where: step.Where, Do: "dns.query"})()
				r.Step(step)
			}
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return file
}

// read reads a diary's round.
func read(t *testing.T, file string) Played {
	t.Helper()
	p, err := Read(t.Context(), file, "", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// compared reads a diary, and judges behaviours, without the wrong crowds.
func compared(t *testing.T, file string, behaviours ...string) Verdict {
	t.Helper()
	p := read(t, file)
	drawn, err := p.Draw(t.Context(), p.Run.Seed+1)
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.compare(drawn, p.Run.Seed+1, behaviours)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// judged reads a diary, and judges behaviours.
func judged(t *testing.T, file string, behaviours ...string) Verdict {
	t.Helper()
	p := read(t, file)
	v, err := p.Judge(t.Context(), p.Run.Seed+1, behaviours)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(v); err != nil {
		t.Error(err)
	}
	return v
}

// TestRead: what is read from a diary is what was laid out; other plans, and rounds that were broken off, are refused.
func TestRead(t *testing.T) {
	s := parsed(t, strings.Replace(busy, "users: 120", "users: 10", 1))
	p, err := Read(t.Context(), acted(t, s, nil), "bridge", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := network{}.draw(t.Context(), s, s.Seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b Session) bool {
		return a.User == b.User && a.Begun == b.Begun && a.Cut == b.Cut && slices.Equal(a.Steps, b.Steps)
	}
	if len(want) < 50 || !slices.EqualFunc(p.Sessions, want, same) || p.Lag != 0 {
		t.Errorf("%d sessions are read, %d were laid out", len(p.Sessions), len(want))
	}
	for name, x := range map[string]struct {
		change func(*happened)
		mode   string
		want   string
	}{
		"no such round": {mode: "routed", want: "no such round"},
		"broken off": {change: func(h *happened) {
			if h.Start > time.Minute {
				h.steps = nil
			}
		}, want: "was not played to its end"},
		"other action": {change: func(h *happened) { h.steps[0].Do = "web.page" }, want: "another plan"},
		"other user":   {change: func(h *happened) { h.steps[0].User = 99 }, want: "another plan"},
		"a step is missing": {change: func(h *happened) {
			if len(h.steps) > 1 {
				h.steps = h.steps[1:]
			}
		}, want: "another plan"},
	} {
		if _, err := Read(t.Context(), acted(t, s, x.change), x.mode, 0, nil); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTooFew: a behaviour with too few sessions, or of too few users, has no verdict, and that is said.
func TestTooFew(t *testing.T) {
	few := parsed(t, strings.Replace(busy, "users: 120", "users: 30", 1))
	lone := parsed(t, strings.NewReplacer("users: 120", "users: 10", "5m", "2h").Replace(busy))
	for _, s := range []scenario.Scenario{few, lone} {
		v := judged(t, acted(t, s, nil), "mail")
		if b := v.Behaviours[0]; b.Answer != TooFew || b.Power != nil || (b.Sessions >= leastSessions()) != (b.Users < leastUsers) {
			t.Errorf("%+v", b)
		}
		if err := v.Check(); err == nil || !strings.Contains(err.Error(), "too few sessions of mail (") || !strings.Contains(err.Error(), "needs 153, of 20 users") {
			t.Error(err)
		}
	}
}

// TestScaled: a round to which users came by hand is refused, as its plan is not that of the diary.
func TestScaled(t *testing.T) {
	file := acted(t, parsed(t, strings.Replace(busy, "users: 120", "users: 10", 1)), nil)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := &diary.Recorder{To: f}
	r.Scale(diary.Scale{From: 10, To: 20})
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	if _, err := Read(t.Context(), file, "", 0, nil); err == nil || !strings.Contains(err.Error(), "came or went by hand") {
		t.Error(err)
	}
}
