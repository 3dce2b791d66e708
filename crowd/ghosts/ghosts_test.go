package ghosts

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

var update = flag.Bool("update", false, "write testdata/office.yaml anew")

func file(t *testing.T, name string) File {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return File{name, text}
}

// TestImport: two timelines become a scenario that can be planned, and what is not in it is said.
func TestImport(t *testing.T) {
	made, err := Import([]File{file(t, "clerk.json"), file(t, "admin.json")}, 20)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/office.yaml", made.Text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := file(t, "office.yaml").Text; string(made.Text) != string(want) {
		t.Errorf("the scenario is another one than testdata/office.yaml (-update writes it anew):\n%s", made.Text)
	}
	left := strings.Join(made.LeftOut, "\n")
	for _, want := range []string{"clerk.json: a handler Word,", "admin.json: the schedule of a handler Sftp", "admin.json: that its handlers have other hours"} {
		if !strings.Contains(left, want) {
			t.Errorf("it is not said that %q is left out:\n%s", want, left)
		}
	}
	read, err := scenario.Parse(made.Text)
	if err != nil {
		t.Fatal(err)
	}
	did, drawn := map[string]int{}, plan.New(read, nil)
	for user := 1; user <= read.Users; user++ {
		diary, err := drawn.User(t.Context(), user)
		if err != nil {
			t.Fatal(err)
		}
		for _, session := range diary.Sessions {
			for _, step := range session.Steps {
				did[string(step.Do)]++
			}
		}
	}
	for _, action := range []string{"web.page", "files.get", "files.put", "mail.login", "mail.send", "mail.check", "mail.fetch", "shell.login", "shell.key", "chat.message"} {
		if did[action] == 0 {
			t.Errorf("nobody does %s: %v", action, did)
		}
	}
	if logins := did["shell.login"]; did["shell.key"] < 2*logins || did["shell.key"] > 3*logins {
		t.Errorf("%d logins have %d commands, not about three each", logins, did["shell.key"])
	}
}

// one is a timeline with one handler.
func one(kind, more, events string) File {
	return File{"one.json", fmt.Appendf(nil, `{"TimeLineHandlers": [{"HandlerType": %q, "UtcTimeOn": "00:00:00", "UtcTimeOff": "24:00:00", "Loop": true%s, "TimeLineEvents": [%s]}]}`, kind, more, events)}
}

// TestHandlers: each handler that heddle knows becomes a behaviour, whatever its events are.
func TestHandlers(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(makers)) {
		for _, event := range []string{`{}`, `{"Command": "random", "CommandArgs": [1, null, "a|b|get c;put d", {"x": 1}], "DelayBefore": 10, "DelayAfter": 1}`,
			`{"Command": "upload"}, {"Command": "download"}, {"Command": "reply"}, {"Command": "clickrandomlink"}`} {
			made, err := Import([]File{one(kind, `, "HandlerArgs": {"stickiness": 100, "stickiness-depth-max": 1e9, "delay-jitter": "x", "TimeBetweenCommandsMin": 9}`, event)}, 1)
			if err != nil {
				t.Errorf("%s %s: %v\n%s", kind, event, err, made.Text)
			}
		}
	}
}

// TestHours: handlers with the same hours keep them, those that loop come as often as they pass, others once.
func TestHours(t *testing.T) {
	for more, want := range map[string]string{
		``: "does: {curl: 60/h}",
		`, "UtcTimeOn": "08:00:00", "UtcTimeOff": "16:00:00"`:                "hours: '08:00-16:00'",
		`, "UtcTimeOn": "22:00:00", "UtcTimeOff": "06:00:00"`:                "start: 'Mon 22:00'",
		`, "UtcTimeOn": "08:00:00", "UtcTimeOff": "16:00:00", "Loop": false`: "does: {curl: 0.125/h}",
		`, "UtcTimeOn": "22:00:00", "UtcTimeOff": "06:00:00", "Loop": false`: "does: {curl: 0.125/h}",
	} {
		made, err := Import([]File{one("Curl", more, `{"Command": "random", "DelayAfter": 59000}`)}, 1)
		if err != nil || !strings.Contains(strings.ReplaceAll(string(made.Text), "start: Mon 22:00", "start: 'Mon 22:00'"), want) {
			t.Errorf("%s: %v, want %q:\n%s", more, err, want, made.Text)
		}
	}
}

// TestNames: whatever files are called, personas have names.
func TestNames(t *testing.T) {
	same := one("Curl", "", "{}").Text
	made, err := Import([]File{{"/x/Büro 7.json", same}, {"b-ro.json", same}, {"17.json", same}, {"a: {b}.json", same}}, 4)
	if err != nil {
		t.Fatal(err)
	}
	read, err := scenario.Parse(made.Text)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(read.Personas)); !slices.Equal(got, []string{"a---b", "b-ro", "b-ro-2", "timeline"}) {
		t.Errorf("personas %q", got)
	}
}

// TestOdd: numbers that are none are as if they were not there; a byte order mark is; all commands of an event are sent.
func TestOdd(t *testing.T) {
	for events, want := range map[[2]string]string{
		{"Curl", `, "HandlerArgs": {"stickiness": "NaN", "stickiness-depth-max": 4, "delay-jitter": "NaN"}`}: "does: {curl: 60/h}",
		{"Ssh", ""}: "key-81:",
	} {
		one := one(events[0], events[1], `{"Command": "random", "CommandArgs": ["a|b|`+strings.Repeat("ls;", 80)+`"], "DelayAfter": 59000}`)
		one.Text = append([]byte("\ufeff"), one.Text...)
		made, err := Import([]File{one}, 1)
		if err != nil || !strings.Contains(string(made.Text), want) {
			t.Errorf("%v: %v, want %q:\n%.300s", events, err, want, made.Text)
		}
	}
}

// TestRefused: what is no timeline, or does nothing, is refused.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		text string
		code heddle.Code
		want string
	}{
		{"", heddle.BadJSON, "one.json"},
		{"{}", heddle.BadJSON, "no TimeLineHandlers"},
		{`{"TimeLineHandlers": 7}`, heddle.BadJSON, "cannot unmarshal"},
		{`{"TimeLineHandlers": [{"UtcTimeOn": "noon"}]}`, heddle.BadJSON, "no time such as"},
		{`{"TimeLineHandlers": [{"UtcTimeOn": "25:00:00"}]}`, heddle.BadJSON, "no time such as"},
		{`{"TimeLineHandlers": [{"Loop": "perhaps"}]}`, heddle.BadJSON, "neither true nor false"},
		{string(one("Curl", "", `{"DelayAfter": -1}`).Text), heddle.BadJSON, "is no delay of"},
		{string(one("Curl", "", `{"DelayAfter": 1e300}`).Text), heddle.BadJSON, "is no delay of"},
		{string(one("Curl", "", `{"DelayAfter": {"random": true, "min": 5, "max": 1}}`).Text), heddle.BadJSON, "is no delay of"},
		{string(one("Curl", "", `{"DelayAfter": "soon"}`).Text), heddle.BadJSON, "is no delay"},
		{string(one("Curl", "", "{}"+strings.Repeat(",{}", scenario.MaxSteps)).Text), heddle.BadJSON, "1001 events"},
		{string(one("Curl", "", "{}"+strings.Repeat(",{}", 189)).Text), heddle.BadArgument, "a scenario has up to 65536"},
		{string(one("Ssh", "", `{"CommandArgs": ["a|b|`+strings.Repeat("ls;", 2000)+`"]}`).Text), heddle.BadArgument, "2001 steps"},
		{string(one("Word", "", "{}").Text), heddle.BadArgument, "no handler of it sends anything"},
		{string(one("Curl", "", "").Text), heddle.BadArgument, "no handler of it sends anything"},
	} {
		made, err := Import([]File{{"one.json", []byte(c.text)}}, 1)
		if !errors.Is(err, c.code.Sentinel()) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%.80s: %v, want %s %q\n%s", c.text, err, c.code, c.want, made.Text)
		}
	}
}
