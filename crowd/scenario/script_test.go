package scenario_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/crowd/scenario"
)

const scripted = `crowd: scripted
users: 2
clock: {start: "Mon 09:00", length: 3s}
personas:
  one: {share: 100%, does: {play: 1/m, browse: 1/m}}
behaviours:
  play:
    actions: [voice.call, chat.message]
    steps: 5
    script: |
      #!/usr/bin/env  python3 -u
      print("hello")
`

// TestScript: what a script does is known before it is asked.
func TestScript(t *testing.T) {
	s, err := scenario.Parse([]byte(scripted))
	if err != nil {
		t.Fatal(err)
	}
	b := s.Behaviours["play"]
	path, args := b.Interpreter()
	if path != "/usr/bin/env" || !slices.Equal(args, []string{"python3 -u"}) {
		t.Errorf("its interpreter is %s, with %q", path, args)
	}
	if got := fmt.Sprint(s.Scripts(), s.Uses(), b.Services(), b.Steps); got != "[play] [chat voice web] [chat voice] 5" {
		t.Error(got)
	}
	if got := strings.Join(s.Actions(), " "); !strings.Contains(got, "chat.message") || !strings.Contains(got, "mistake.name mistake.password") {
		t.Error(got)
	}
}

func TestScriptRefused(t *testing.T) {
	for _, c := range []struct{ old, changed, want string }{
		{"#!/usr/bin/env  python3 -u", "import sys", "line 10, behaviours.play.script: its first line names no interpreter; begin with one such as #!/usr/bin/python3"},
		{"#!/usr", "#!usr", "line 10, behaviours.play.script: its first line names no interpreter"},
		{"[voice.call, chat.message]", "[]", "line 8, behaviours.play.actions: it is missing; list what"},
		{"[voice.call, chat.message]", "[voice.shout]", `line 8, behaviours.play.actions: "voice.shout" is no action; choose from`},
		{"[voice.call, chat.message]", "[voice.call, voice.call]", "line 8, behaviours.play.actions: it has voice.call twice"},
		{"steps: 5", "steps: 0", "line 9, behaviours.play.steps: 0 is no number of steps; give the most that a session has, 1 to 1000"},
		{"steps: 5", "steps: 1001", "line 9, behaviours.play.steps: 1001 is no number of steps"},
		{"steps: 5", "steps: 5\n    start: work", "line 7, behaviours.play: its script says what happens; take start, states and patience out"},
		{"steps: 5", "steps: 5\n    patience: 3s", "line 7, behaviours.play: its script says what happens"},
		{"    script: |\n", "    states: {}\n    start: |\n", "line 7, behaviours.play: its states say what is done; take actions and steps out"},
		{"users: 2", "users: 1000000", ""},
		{"users: 2\nclock: {start: \"Mon 09:00\", length: 3s}", "users: 1000000\nclock: {start: \"Mon 09:00\", length: 20m}", "line 2, users: all of them would have up to"},
	} {
		text := strings.Replace(scripted, c.old, c.changed, 1)
		if text == scripted {
			t.Fatalf("there is no %q", c.old)
		}
		_, err := scenario.Parse([]byte(text))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v; expected %s", c.changed, err, c.want)
		}
	}
}
