package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/test/soak"
)

// TestCrowdMachines types what docs/guides/crowd-machines.md says: processes of three hosts, each with an agent of its own, play one crowd. Then it
// does so again, and ends one of them.
func TestCrowdMachines(t *testing.T) {
	soak.Turn(t, 1)
	const late = " 2> said || { cat said >&2; grep HDL-9002 said; }\n"
	const ends = "heddle lab exec host1 -- heddle network delete crowd\nheddle lab down\n"
	typed := guideBlocks(t, "crowd-machines.md", 5)
	if !strings.HasSuffix(typed, ends) {
		t.Fatal("the guide ends otherwise")
	}
	if !alone(t) {
		return
	}
	dir, script := t.TempDir(), ""
	for line := range strings.Lines(strings.TrimSuffix(typed, ends)) {
		if strings.HasPrefix(line, "heddle crowd merge ") || strings.HasPrefix(line, "heddle crowd report ") { // it may be late
			line = strings.TrimSuffix(line, "\n") + late
		}
		script += line
	}
	t.Cleanup(func() { exec.Command("heddle", "lab", "down").Run() })
	shell(t, "set -ex\ncd "+dir+"\n"+script)
	checkMachines(t, dir)
	partEnds(t, dir)
	shell(t, "set -ex\nheddle lab exec host1 -- heddle audit\nheddle lab exec host2 -- heddle audit\n"+ends)
	nothingLeft(t)
}

// checkMachines: all that was planned happened, once, and the sum is that of the parts. People of different machines talked to each other.
func checkMachines(t *testing.T, dir string) {
	t.Helper()
	merged, err := report.Read(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	one := merged.Rounds[0]
	for name, s := range one.Behaviours {
		if s.Intended == 0 || s.Achieved != s.Intended {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if len(one.Behaviours) != 3 || one.Users != 12 || len(one.Failures) > 0 || one.Calls.Count == 0 || one.Calls.MOSP50 < 4 || one.Calls.Lost > 0.2 || merged.Partial != "" || one.Early != nil ||
		one.Clock == nil || one.Clock.Within <= 0 || one.Clock.Ahead.Abs() > one.Clock.Within { // all have the kernel's clock
		t.Errorf("%+v", one)
	}
	var sessions, calls int64
	far := map[[2]int]int{} // calls by the parts of both ends
	for number := 1; number <= 3; number++ {
		part, err := report.Read(filepath.Join(dir, fmt.Sprintf("part%d.json", number)))
		if err != nil || part.Part == nil || part.Part.Number != number || part.Rounds[0].Users != 4 || part.SHA256 != merged.SHA256 {
			t.Fatalf("%v, %+v", err, part)
		}
		sessions, calls = sessions+part.Rounds[0].Sessions().Intended, calls+part.Rounds[0].Calls.Count
		for l, err := range diary.Read(filepath.Join(dir, fmt.Sprintf("diary%d.jsonl", number))) {
			if err != nil {
				t.Fatal(err)
			}
			if l.Step != nil && (l.Step.User-1)%3 != number-1 {
				t.Errorf("part %d has played user %d", number, l.Step.User)
			}
			if f := l.Flow; f != nil && f.Do == "voice.call" {
				far[[2]int{(f.User-1)%3 + 1, number}]++
			}
		}
	}
	if sessions != one.Sessions().Intended || calls != one.Calls.Count {
		t.Errorf("parts have %d sessions and %d calls, and the sum %d and %d", sessions, calls, one.Sessions().Intended, one.Calls.Count)
	}
	between := 0
	for ends, n := range far {
		if ends[0] != ends[1] {
			between += n
		}
	}
	if between == 0 || int64(between) >= calls {
		t.Errorf("of %d calls, by parts %v, %d are between parts", calls, far, between)
	}
	if got := call(t, "crowd", "merge", filepath.Join(dir, "part1.json"), filepath.Join(dir, "part3.json")); got.code != 1 || !strings.Contains(got.stderr, "the report of part 2/3 is missing") || !strings.Contains(got.stdout, "of 2 parts alone") {
		t.Errorf("%+v", got)
	}
	if got := call(t, "crowd", "classify", filepath.Join(dir, "diary1.jsonl")); got.code != 2 || !strings.Contains(got.stderr, "it is of part 1/3") {
		t.Errorf("%+v", got)
	}
	if got := call(t, "crowd", "why", "3", filepath.Join(dir, "diary1.jsonl")); got.code != 2 || !strings.Contains(got.stderr, "the user is of part 3/3") {
		t.Errorf("%+v", got)
	}
}

// partEnds: who would be in the way is refused, and when one part ends the other one goes on, and says so.
func partEnds(t *testing.T, dir string) {
	t.Helper()
	begin := time.Now().Add(8 * time.Second).UTC().Truncate(time.Second)
	args := func(host int, part string, more ...string) []string {
		return append([]string{"lab", "exec", fmt.Sprintf("host%d", host), "--", "heddle", "crowd", "run", filepath.Join(dir, "people.yaml"), "--network", "crowd", "--users", "6",
			"--part", part, "--begin", begin.Format(time.RFC3339), "--out", filepath.Join(dir, "ended"+part[:1]+".json")}, more...)
	}
	start := func(host int, part string) *crowdRun {
		r := &crowdRun{said: make(chan string, 100)}
		r.cmd = exec.Command("heddle", args(host, part)...)
		r.cmd.Stdout, r.cmd.Stderr = &r.stdout, r
		if err := r.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	first, second := start(1, "1/2"), start(2, "2/2")
	first.awaits(t, "all parts are there")
	for why, other := range map[string][]string{
		"part 1/2 of that crowd is on it": args(3, "1/2"),
		"with another plan is on it":      args(3, "1/2", "--seed", "9"),
		"a crowd in 2 parts is on it":     args(3, "3/3"),
	} {
		if out, err := exec.Command("heddle", other...).CombinedOutput(); err == nil || !strings.Contains(string(out), why) {
			t.Errorf("%s: %v, %s", why, err, out)
		}
	}
	if got := heddleDoes(t, "lab", "exec", "host3", "--", "heddle", "endpoint", "list", "-q"); got != "" {
		t.Errorf("who was refused has left %s", got)
	}
	second.awaits(t, "playing for")
	if got := heddleDoes(t, "lab", "exec", "host1", "--", "heddle", "crowd", "status"); !strings.Contains(got, "1/2") {
		t.Error(got)
	}
	if out, err := exec.Command("heddle", "lab", "exec", "host2", "--", "heddle", "crowd", "scale", "9").CombinedOutput(); err == nil || !strings.Contains(string(out), "it is in parts") {
		t.Errorf("%v, %s", err, out)
	}
	heddleDoes(t, "lab", "exec", "host2", "--", "heddle", "crowd", "down")
	second.cmd.Wait()
	first.cmd.Wait()
	r, err := report.Read(filepath.Join(dir, "ended1.json"))
	if err != nil || len(r.Rounds[0].Early) != 1 || !strings.Contains(r.Rounds[0].Early[0], "part 2/2 ended") || !strings.Contains(r.Rounds[0].Invalid, "people and services were missing") {
		t.Errorf("%v, %+v\n%s", err, r, first.stderr.String())
	}
	if got := call(t, "crowd", "merge", filepath.Join(dir, "ended1.json"), filepath.Join(dir, "ended2.json"), "--out", filepath.Join(dir, "ended.json")); got.code != 1 || !strings.Contains(got.stdout, "part 2/2: interrupted") {
		t.Errorf("%+v\n%s", got, second.stderr.String())
	}
}
