package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/mode/parts"
)

// exampleFile writes an example, changed, to a file.
func exampleFile(t *testing.T, name, old, changed string) string {
	t.Helper()
	text, err := scenario.Example(name)
	if err != nil {
		t.Fatal(err)
	}
	return scenarioFile(t, strings.Replace(string(text), old, changed, 1))
}

// scenarioFile writes a scenario to a file.
func scenarioFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCrowdScreens renders a scenario, its plan and a diary for a terminal of 80 columns.
func TestCrowdScreens(t *testing.T) {
	read, err := scenario.Read(exampleFile(t, "small", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := plan.New(read, nil).Write(t.Context(), &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	diary, err := plan.New(read, nil).User(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	limits := plan.Limits{Memory: 8e9, Files: 1048576, FilesOfUser: 256, Ports: 28232, Neighbours: 1024,
		BridgePorts: parts.BridgePorts}
	for name, write := range map[string]func(*session) error{
		"crowd": func(s *session) error { return s.crowdScreen(s.stdout, crowdOf(read)) },
		"crowd.plan": func(s *session) error {
			return s.planScreen(s.stdout, read.Clock, crowdPlan{drawn, drawn.Needs(limits), read.Events}, []string{"bridge", "routed"})
		},
		"crowd.diary": func(s *session) error { return s.diaryTable(s.stdout, diary) },
	} {
		s, out := screen(t)
		if err := write(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		compare(t, name, out.String())
	}
}

// TestCrowdCheck: what is in a schedule is shown, and no number has an exponent.
func TestCrowdCheck(t *testing.T) {
	file := scenarioFile(t, `
crowd: shifts
users: 3
clock: {start: "Mon 10:00", length: 90m}
personas:
  day:
    share: 50%
    schedule:
      days: mon-wed,fri
      hours: "08:30-17:00 +-20m"
      lunch: 12:00-13:00
      curve: {"06:00": 50%, "23:00": 100%}
    does: {print: 3600/h}
  night: {share: 49.99%, link: {delay: 30ms, jitter: 8ms, loss: 0.5%, rate: 20mbit}, schedule: {hours: "16:00-24:00", days: "sun,mon"}, does: {type: 1/d}}
  always: {share: 0.01%, does: {type: 1/h}}
behaviours:
  type:
    start: key
    states: {key: {do: shell.key, expect: 1s, next: {key: 0.9995, end: 0.0005}}}
events:
  - {at: 10m, for: 90s, service: print, fault: down}
  - {at: 0s, for: 1h, persona: night, link: {delay: 300ms, loss: 5%}}
  - {at: 1h, for: 30m, gather: print, share: 100%, persona: always}
  - {at: 1h, for: 1s, gather: print, share: 100%, persona: day}
`)
	got := call(t, "crowd", "check", file)
	for _, want := range []string{
		"day +mon-wed,fri +08:30-17:00 \\+-20m +12:00-13:00 +06:00 50%, 23:00 100%\n",
		"night +sun,mon +16:00-24:00", "day +50% +print 3600\n", "always +0.01% +type 1\n", "night +50% +type 0.0417\n",
		"type +the file +1 +1000 ", "LINK +EACH WAY\nnight +delay 30ms, jitter 8ms, loss 0.5%, rate 20mbit\n",
		"EVENT +AT +FOR +WHAT HAPPENS\n1 +0:10:00 +1m30s +service print down\n2 +0:00:00 +1h +link of night: delay 300ms, loss 5%\n3 +1:00:00 +30m +100% of always begin print\n",
	} {
		if !regexp.MustCompile(want).MatchString(got.stdout) {
			t.Errorf("%+v\nhas no %q", got, want)
		}
	}
	if regexp.MustCompile(`(?m)^always +-|e\+0`).MatchString(got.stdout) {
		t.Error(got.stdout)
	}
	check, drawn := call(t, "crowd", "check", file, "-o", "json"), call(t, "crowd", "plan", file, "-o", "json")
	if length := `"length": 5400000000000,`; !strings.Contains(check.stdout, length) ||
		!strings.Contains(drawn.stdout, length) || !strings.Contains(check.stdout, `"rate": "20mbit"`) || !strings.Contains(check.stdout, `"curve": "06:00 50%, 23:00 100%"`) {
		t.Errorf("%+v\n%+v", check, drawn)
	}
	for _, text := range []string{check.stdout, drawn.stdout} {
		var doc struct{ Events []scenario.Event }
		if err := json.Unmarshal([]byte(text), &doc); err != nil || len(doc.Events) != 4 || doc.Events[0] != (scenario.Event{At: 10 * time.Minute, For: 90 * time.Second, Service: "print", Fault: scenario.Down}) {
			t.Errorf("%v: %+v", err, doc)
		}
	}
	if got := call(t, "crowd", "plan", file, "--user", "1"); !regexp.MustCompile(`print [0-9]+, event [34] `).MatchString(got.stdout) && !strings.Contains(got.stderr, "night") {
		t.Errorf("%+v", got)
	}
}

// TestCutIsShown: a plan and a diary say how many sessions are cut off.
func TestCutIsShown(t *testing.T) {
	file := scenarioFile(t, `
crowd: waiters
users: 1
clock: {start: "Mon 10:00", length: 1h}
personas: {waiter: {share: 1, does: {wait: 30/h}}}
behaviours:
  wait:
    start: wait
    states: {wait: {think: 1ms, next: {wait: 0.999999, end: 0.000001}}}
`)
	words := regexp.MustCompile(`[0-9]+ sessions? \(1000 steps, or 4000 states\)`)
	for _, args := range [][]string{{"plan", file}, {"plan", file, "--user", "1"}} {
		if got := call(t, append([]string{"crowd"}, args...)...); !words.MatchString(got.stdout + got.stderr) {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestCrowdPlan(t *testing.T) {
	file, out := exampleFile(t, "small", "", ""), filepath.Join(t.TempDir(), "plan.jsonl")
	got := call(t, "crowd", "plan", file, "--out", out, "--seed", "2", "--users", "9", "--modes", "routed", "-o", "json")
	text, err := os.ReadFile(out)
	if err != nil || got.code != 0 {
		t.Fatal(err, got)
	}
	var doc struct {
		Kind string
		plan.Summary
		Needs []plan.Need
	}
	if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil {
		t.Fatal(err)
	}
	of := sha256.Sum256(text)
	if doc.Kind != "CrowdPlan" || doc.Users != 9 || doc.Seed != 2 || len(doc.Needs) == 0 ||
		doc.SHA256 != hex.EncodeToString(of[:]) {
		t.Errorf("%+v, and the file has the sum %x", doc, of)
	}
	if all, err := os.ReadDir(filepath.Dir(out)); err != nil || len(all) != 1 {
		t.Errorf("%v: the folder has %v", err, all)
	}
	diary := call(t, "crowd", "plan", file, "--user", "3", "-o", "json")
	if diary.code != 0 || !strings.Contains(diary.stdout, `"kind": "CrowdDiary"`) {
		t.Error(diary)
	}
}

func TestCrowdRefused(t *testing.T) {
	small, often := exampleFile(t, "small", "", ""), exampleFile(t, "small", "browse: 2/h", "browse: often")
	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(small, linked); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"check " + often:               `line 9, personas.clerk.does.browse: "often" is not a rate`,
		"plan " + small + " --users 0": "0 is no number of users; give 1 to 1000000",
		"plan " + small + " --user 21": "find user 21: the crowd has no such user",
		"plan " + small + " --user 0":  "give 1 to 20",
		"plan " + small + " --out " + filepath.Join(t.TempDir(), "no/where"): "name a file that can be written",
		"plan " + small + " --out " + os.DevNull:                             "no regular file",
		"plan " + small + " --modes bridge,tunnel":                           `there is no mode "tunnel"`,
		"plan " + small + " --out " + small:                                  "it is the scenario's own file",
		"plan " + small + " --out " + linked:                                 "it is the scenario's own file",
		"plan " + small + " --user 1 --out x":                                "--user is given as well",
		"plan /none.yaml":                                                    "name a readable file",
		"check /none.yaml":                                                   "name a readable file",
		"plan":                                                               "FILE",
		"example nothing":                                                    "choose from evening",
	} {
		got := call(t, append([]string{"crowd"}, strings.Fields(line)...)...)
		if got.code != 2 || !strings.Contains(got.stderr, want) || got.stdout != "" {
			t.Errorf("crowd %s: %+v, and not %q", line, got, want)
		}
	}
}

func TestKernelLimits(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	got := kernelLimits(fstest.MapFS{
		"meminfo":                               file("MemTotal: 32000 kB\nMemAvailable:   24000 kB\n"),
		"sys/fs/nr_open":                        file("1048576\n"),
		"sys/net/ipv4/ip_local_port_range":      file("32768\t60999\n"),
		"sys/net/ipv4/neigh/default/gc_thresh3": file("1024\n"),
		"sys/net/netfilter/nf_conntrack_max":    file("odd\n"),
	})
	want := plan.Limits{Memory: 24000 * 1024, Files: 1048576, Ports: 28232, Neighbours: 1024,
		BridgePorts: parts.BridgePorts}
	if got != want {
		t.Errorf("%+v, and not %+v", got, want)
	}
}
