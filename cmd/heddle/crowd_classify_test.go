package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/classifier"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/plan"
)

// TestClassifyScreen renders a verdict for a terminal.
func TestClassifyScreen(t *testing.T) {
	power := []classifier.Power{{Wrong: "constant pauses", Noticed: 5, Of: 5}, {Wrong: "100ms late", Noticed: 3, Of: 5}}
	v := classifier.Verdict{Crowd: "small", Round: 2, Mode: "bridge", Lag: 12 * time.Millisecond, Seed: 8, Behaviours: []classifier.Behaviour{
		{Behaviour: "browse", Sessions: 200, Users: 90, Accuracy: 0.512, Low: 0.44, High: 0.58, P: 0.3712, Adjusted: 0.7424, Answer: classifier.No, Power: power},
		{Behaviour: "chat", Sessions: 180, Users: 80, Cut: 3, Accuracy: 0.91, Low: 0.86, High: 0.95, P: 0.0001, Adjusted: 0.0003, Answer: classifier.Yes, Power: power[1:],
			Signs: []classifier.Sign{{Feature: "pause chat.message → chat.message", Distance: 0.4, Played: 12, Drawn: 17.25}}},
		{Behaviour: "mail", Sessions: 12, Users: 9, Answer: classifier.TooFew}}}
	s, out := screen(t)
	if err := s.classifyScreen(s.stdout, v); err != nil {
		t.Fatal(err)
	}
	compare(t, "crowd.classify", out.String())
}

// TestClassify: a diary with too few sessions has no verdict, which is no success; what cannot be asked is refused.
func TestClassify(t *testing.T) {
	file := classified(t)
	for name, x := range map[string]struct {
		args []string
		want []string
	}{
		"too few":          {nil, []string{string(heddle.CrowdFailed), "too few sessions of browse ("}},
		"one behaviour":    {[]string{"--behaviours", "mail"}, []string{string(heddle.CrowdFailed), "too few sessions of mail ("}},
		"own seed":         {[]string{"--seed", "4"}, []string{string(heddle.BadArgument), "the run's own seed"}},
		"unknown":          {[]string{"--behaviours", "mail,dance"}, []string{string(heddle.BadArgument), `nobody does "dance"`, "browse"}},
		"no such round":    {[]string{"--round", "7"}, []string{string(heddle.BadArgument), "no such round"}},
		"another argument": {[]string{"another"}, []string{"one too many"}},
	} {
		got := call(t, append([]string{"crowd", "classify", file}, x.args...)...)
		for _, want := range x.want {
			if got.code == 0 || !strings.Contains(got.stderr, want) {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
	got := call(t, "crowd", "classify", file, "--behaviours", "mail", "-o", "json")
	if !strings.Contains(got.stdout, `"kind": "CrowdClassification"`) || !strings.Contains(got.stdout, `"toldApart": "too few"`) || strings.Contains(got.stdout, `"browse"`) {
		t.Errorf("%+v", got)
	}
}

// classified is the diary of a small crowd that did what was planned, at once.
func classified(t *testing.T) (file string) {
	t.Helper()
	text, err := os.ReadFile(exampleFile(t, "small", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	run := diary.Run{Crowd: "small", Seed: 4, Users: 5, Scenario: string(text)}
	read, err := run.Planned()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "diary.jsonl")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := &diary.Recorder{To: f}
	r.Write(diary.Line{Run: &run})
	r.Begin(diary.Round{Number: 1, Mode: "bridge"})
	for user := 1; user <= read.Users; user++ {
		d, err := plan.New(read, nil).User(t.Context(), user)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range d.Sessions {
			begins, _ := one.Begins()
			for i, step := range one.Steps {
				at := one.Start + begins[i]
				r.Step(diary.Step{Where: diary.At(one, i), Do: string(step.Do), Mistake: step.Mistake, Planned: at, Begun: at, Ended: at + step.Takes(), Outcome: "achieved"})
			}
		}
	}
	if r.Err() != nil {
		t.Fatal(fmt.Errorf("write the diary: %w", r.Err()))
	}
	return file
}
