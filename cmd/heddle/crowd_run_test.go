package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/test/poll"
)

// players are people who do something short, often.
const players = `
crowd: players
users: 12
clock: {start: "Mon 09:00", length: 3s}
services: {chat: {sites: 1}}
personas:
  player: {share: 100%, does: {read: 20/m, talk: 15/m, write: 15/m, watch: 10/m}}
behaviours:
  read:
    start: page
    patience: 1m
    states:
      page: {do: web.page, sends: 300B, receives: 10KB, more: {count: 5, receives: 2KB}, connections: 2, expect: 5ms, next: {end: 1}}
  talk:
    start: call
    patience: 1m
    states:
      call: {do: voice.call, sends: 160B, receives: 160B, every: 20ms, lasts: 500ms, next: {end: 1}}
  write:
    start: connect
    states:
      connect: {do: chat.connect, sends: 100B, receives: 100B, keep: true, expect: 5ms, next: {message: 1}}
      message: {do: chat.message, sends: 50B, receives: 50B, connections: 0, expect: 5ms, think: 20ms, next: {message: 0.8, end: 0.2}}
  watch:
    start: play
    states:
      play: {do: video.play, sends: 300B, receives: 100KB, every: 200ms, lasts: 1s, next: {end: 1}}
`

// TestCrowdRun plays the same plan on four modes.
func TestCrowdRun(t *testing.T) {
	if !alone(t) {
		return
	}
	file, out := scenarioFile(t, players), filepath.Join(t.TempDir(), "report.json")
	modes := []string{"bridge", "routed", "macvlan", "overlay"}
	run := runCrowd(t, file, "--modes", strings.Join(modes, ","), "--out", out, "-o", "json")
	run.ends(t)
	r, err := report.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if r.Users != 12 || r.Partial != "" || len(r.SHA256) != 64 {
		t.Errorf("%+v", r)
	}
	var played []string
	for _, one := range r.Rounds {
		played = append(played, one.Mode)
		checkRound(t, one)
	}
	if !slices.Equal(played, modes) {
		t.Errorf("played were %v", played)
	}
	shown := call(t, "crowd", "report", out, "-o", "json")
	want, _ := os.ReadFile(out)
	if !sameDocument(t, shown.stdout, run.stdout.String()) || !sameDocument(t, shown.stdout, string(want)) {
		t.Errorf("the report is shown as\n%s\nand was\n%s", shown.stdout, run.stdout.String())
	}
	nothingLeft(t)
}

// checkRound: all that was planned happened.
func checkRound(t *testing.T, r report.Round) {
	t.Helper()
	for name, s := range r.Behaviours {
		if s.Intended == 0 || s.Achieved != s.Intended {
			t.Errorf("%s: %s: %+v", r.Mode, name, s)
		}
	}
	if len(r.Behaviours) != 4 || len(r.Failures) > 0 || r.Calls.Count == 0 || r.Calls.MOSP50 < 1 || r.Videos.Count == 0 ||
		r.Actions["web.page"].Planned.P50 <= 0 || r.Actions["dns.query"].Count == 0 || r.Actions["dns.query"].Failed > 0 || r.Attached <= 0 || r.Detached <= 0 || r.Users != 12 {
		t.Errorf("%+v", r)
	}
}

// TestCrowdRunEnds: whatever of a run is killed, it ends with what it has, and nothing is left.
func TestCrowdRunEnds(t *testing.T) {
	if !alone(t) {
		return
	}
	file := scenarioFile(t, strings.Replace(players, "length: 3s", "length: 10m", 1))
	for name, end := range map[string]func(*crowdRun, string){
		"killed":     func(r *crowdRun, _ string) { r.cmd.Process.Kill() },
		"terminated": func(r *crowdRun, _ string) { r.cmd.Process.Signal(syscall.SIGTERM) },
		"the player is killed": func(r *crowdRun, _ string) {
			if out, err := exec.Command("pkill", "-KILL", "-f", "crowd run /dev/stdin").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		},
	} {
		out := filepath.Join(t.TempDir(), "report.json")
		run := runCrowd(t, file, "--modes", "bridge", "--out", out)
		run.awaits(t, "playing for")
		time.Sleep(time.Second) // somebody is doing something
		end(run, out)
		err := run.cmd.Wait()
		if err == nil {
			t.Errorf("%s: the run succeeded", name)
		}
		if name == "terminated" {
			if r, err := report.Read(out); err != nil || len(r.Rounds) != 1 || r.Partial == "" || r.Rounds[0].Invalid == "" || len(r.Rounds[0].Actions) == 0 {
				t.Errorf("%s: %+v, %v\n%s", name, r, err, run.stderr.String())
			}
		}
		if name == "the player is killed" && !strings.Contains(run.stderr.String(), string(heddle.CrowdFailed)) {
			t.Errorf("%s: %s", name, run.stderr.String())
		}
		nothingLeft(t)
	}
}

// TestCrowdRunHere plays on a network of this host. Whoever is killed, the agent removes the crowd.
func TestCrowdRunHere(t *testing.T) {
	if !alone(t) {
		return
	}
	dir := t.TempDir()
	t.Setenv("HEDDLE_SOCKET", dir+"/run/heddle.sock")
	agent := func() *exec.Cmd {
		cmd := exec.Command("heddled", "--run-dir", dir+"/run", "--state-dir", dir+"/state")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		heddleDoes(t, "status", "--wait", "--timeout", "2m")
		return cmd
	}
	first := agent()
	heddleDoes(t, "network", "create", "web", "--mode", "bridge", "--subnet", "10.20.0.0/24", "--subnet", "fd20::/64")
	short := scenarioFile(t, players)
	long := scenarioFile(t, strings.Replace(players, "length: 3s", "length: 10m", 1))

	killed := runCrowd(t, long, "--network", "web")
	killed.awaits(t, "playing for")
	if out, err := exec.Command("heddle", "crowd", "run", short, "--network", "web").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), string(heddle.EndpointDiffers)) {
		t.Errorf("two crowds on one network: %v, %s", err, out)
	}
	if got := heddleDoes(t, "endpoint", "list", "-q"); len(strings.Fields(got)) != 12+4 {
		t.Errorf("the second one changed the first: %s", got)
	}
	killed.cmd.Process.Kill()
	killed.cmd.Wait()
	awaitNobody(t)

	out := filepath.Join(dir, "report.json")
	run := runCrowd(t, short, "--network", "web", "--rounds", "2", "--out", out)
	run.awaits(t, "playing for")
	first.Process.Kill()
	first.Wait()
	second := agent()
	defer second.Wait()
	defer second.Process.Signal(syscall.SIGTERM)
	run.ends(t)
	r, err := report.Read(out)
	if err != nil || len(r.Rounds) != 2 {
		t.Fatalf("%v, %+v\n%s", err, r, run.stderr.String())
	}
	for _, one := range r.Rounds {
		checkRound(t, one)
	}
	awaitNobody(t)
	heddleDoes(t, "network", "delete", "web")
	heddleDoes(t, "audit")
}

// crowdRun is a run that is going on.
type crowdRun struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	said           chan string
}

// runCrowd starts a run.
func runCrowd(t *testing.T, file string, args ...string) *crowdRun {
	t.Helper()
	r := &crowdRun{said: make(chan string, 100)}
	r.cmd = exec.Command("heddle", append([]string{"crowd", "run", file}, args...)...)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, r
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// Write takes what the run says.
func (r *crowdRun) Write(b []byte) (int, error) {
	r.stderr.Write(b)
	r.said <- string(b)
	return len(b), nil
}

// awaits waits until the run says something.
func (r *crowdRun) awaits(t *testing.T, words string) {
	t.Helper()
	late := time.After(3 * time.Minute)
	for {
		select {
		case said := <-r.said:
			if strings.Contains(said, words) {
				return
			}
		case <-late:
			t.Fatalf("the run does not say %q", words)
		}
	}
}

// ends waits for the end of a run. A machine that is busy makes figures invalid; the run is the same.
func (r *crowdRun) ends(t *testing.T) {
	t.Helper()
	if err := r.cmd.Wait(); err != nil && !strings.Contains(r.stderr.String(), "the crowd itself was late") {
		t.Fatalf("%v: %s", err, r.stderr.String())
	}
}

// nothingLeft: no lab, and no process of one, is on this machine, which is the test's own.
func nothingLeft(t *testing.T) {
	t.Helper()
	_, err := poll.Until(time.Minute, 50*time.Millisecond, func() error {
		all, err := exec.Command("ps", "-eo", "stat,args").Output()
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(all)) {
			if strings.Contains(line, "heddle") && !strings.HasPrefix(line, "Z") { // this machine's init reaps nobody
				return fmt.Errorf("the process %s", line)
			}
		}
		if _, err := os.Stat("/run/heddle-lab"); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the folder of labs: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Errorf("left is: %v", err)
	}
}

// awaitNobody waits until the agent has no endpoints and finds nothing amiss.
func awaitNobody(t *testing.T) {
	t.Helper()
	poll.For(t, 2*time.Minute, 200*time.Millisecond, "the agent removed the crowd", func() bool {
		return heddleDoes(t, "endpoint", "list", "-q") == ""
	})
	heddleDoes(t, "audit")
}

// heddleDoes runs a command that succeeds, and returns what it prints.
func heddleDoes(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("heddle", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("heddle %s: %v: %s%s", strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// sameDocument reports whether two documents say the same, but for their kind.
func sameDocument(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y report.Report
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Errorf("%v", err)
		return false
	}
	one, err1 := json.Marshal(x)
	other, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && bytes.Equal(one, other)
}
