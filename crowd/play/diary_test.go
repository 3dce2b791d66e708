package play

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/service"
	"github.com/heddle-network/heddle/crowd/tally"
)

// TestDiary: each step that was counted is in the diary, once, and each flow has one end, after it was opened.
func TestDiary(t *testing.T) {
	users, services := seats(t, 8, "web", "chat", "video", "voice")
	var text bytes.Buffer
	d := &diary.Recorder{To: &text}
	d.Begin(diary.Round{Number: 1, Mode: "bridge", Began: time.Now()})
	r, _ := recorded(t, people, users, services, 30*time.Second, d)
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	steps, open, tcp, udp := map[string]int64{}, map[int64]diary.Flow{}, 0, 0
	places := map[diary.Where]bool{}
	for line := range bytes.Lines(text.Bytes()) {
		var l diary.Line
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch {
		case l.Step != nil:
			name := l.Step.Do
			if l.Step.Mistake != "" {
				name = "mistake." + l.Step.Mistake
			}
			steps[name]++
			if places[l.Step.Where] || l.Step.Outcome != string(tally.Achieved) || l.Step.Begun < l.Step.Planned || l.Step.Ended < l.Step.Begun {
				t.Errorf("%+v", l.Step)
			}
			places[l.Step.Where] = true
		case l.Flow != nil:
			f := *l.Flow
			if _, twice := open[f.ID]; twice || f.From == f.To || !f.From.Addr().IsLoopback() {
				t.Errorf("%+v", f)
			}
			if open[f.ID] = f; f.Protocol == "udp" {
				udp++
			} else if tcp++; f.To.Port() != service.Port {
				t.Errorf("%+v", f)
			}
		case l.End != nil:
			f, is := open[l.End.Flow]
			if !is || l.End.At.Before(f.At) {
				t.Errorf("%+v, %+v", f, l.End)
			}
			delete(open, l.End.Flow)
		}
	}
	for name, a := range r.Actions {
		if steps[name] != a.Count {
			t.Errorf("%s: %d in the diary, %d counted", name, steps[name], a.Count)
		}
	}
	if len(steps) != len(r.Actions) || len(open) > 0 || int64(udp) != r.Calls.Count || tcp < 20 {
		t.Errorf("%v, %d left open, %d and %d flows of %+v", steps, len(open), tcp, udp, r.Calls)
	}
}
