package main

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/classifier"
	"github.com/heddle-network/heddle/crowd/label"
	"github.com/heddle-network/heddle/crowd/live"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/script"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/poll"
)

// players are people who do something short, often.
const players = `
crowd: players
users: 12
clock: {start: "Mon 09:00", length: 3s}
services: {chat: {sites: 1}, web: {by: nginx, tls: true}}
personas:
  player: {share: 100%, does: {read: 20/m, talk: 15/m, write: 15/m, watch: 10/m}}
behaviours:
  read:
    start: page
    patience: 1m
    cache: {pages: 2, main: {fresh: {quantiles: {0.5: 0s, 1: 2s}}, changes: {exponential: 2s}}, more: {fresh: {uniform: [0s, 1s]}, changes: {exponential: 2s}}}
    states:
      page: {do: web.page, sends: 300B, receives: 10KB, more: {count: 5, receives: 2KB}, connections: 2, expect: 5ms, think: 100ms, next: {page: 0.7, end: 0.3}}
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

// asking is players who ask besides, as a script says, over HTTP/3, and whose names are by unbound.
var asking = strings.NewReplacer("services: {", "services: {dns: {by: unbound}, search: {by: caddy, tls: true, http: 3}, ", "watch: 10/m}", "watch: 10/m, ask: 15/m}", "behaviours:\n", `behaviours:
  ask:
    actions: [search.query]
    steps: 2
    script: |
      #!/bin/sh
      while read -r question
      do
        seed=${question#*'"seed":'}
        echo "{\"seed\": ${seed%%,*}, \"steps\": [{\"do\": \"search.query\", \"sends\": 100, \"receives\": [2000, 500], \"expect\": 5000000}]}"
      done
`).Replace(players)

// TestCrowdRun plays the same plan on four modes.
func TestCrowdRun(t *testing.T) {
	if !alone(t) {
		return
	}
	file, folder := scenarioFile(t, asking), t.TempDir()
	out, book, seen := filepath.Join(folder, "report.json"), filepath.Join(folder, "diary.jsonl"), filepath.Join(folder, "seen.pcapng")
	modes := []string{"bridge", "routed", "macvlan", "overlay"}
	run := runCrowd(t, file, "--modes", strings.Join(modes, ","), "--out", out, "--diary", book, "--capture", seen, "-o", "json")
	run.ends(t)
	r, err := report.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if r.Users != 12 || r.Partial != "" || len(r.SHA256) != 64 || r.Services["web"].By != "nginx" || r.Services["web"].Version == "" || !r.Services["web"].TLS || r.Services["dns"].By != "unbound" || r.Services["search"].HTTP != 3 || r.Services["chat"].By != "" {
		t.Errorf("%+v", r)
	}
	var played []string
	for _, one := range r.Rounds {
		played = append(played, one.Mode)
		checkRound(t, one, 5)
		if one.Actions["search.query"].Count == 0 {
			t.Errorf("%s: the script's steps were not done", one.Mode)
		}
		if c := one.Caches["read"]; c.Fresh == 0 || c.Unchanged == 0 || c.Changed == 0 || c.New == 0 || c != r.Rounds[0].Caches["read"] {
			t.Errorf("%s: of the caches: %+v, and in the first round %+v", one.Mode, c, r.Rounds[0].Caches["read"])
		}
		checkDiaries(t, one, book)
		checkClassified(t, one, book)
	}
	if !slices.Equal(played, modes) {
		t.Errorf("played were %v", played)
	}
	checkCaptured(t, r, book, seen)
	shown := call(t, "crowd", "report", out, "-o", "json")
	want, _ := os.ReadFile(out)
	if !sameDocument(t, shown.stdout, run.stdout.String()) || !sameDocument(t, shown.stdout, string(want)) {
		t.Errorf("the report is shown as\n%s\nand was\n%s", shown.stdout, run.stdout.String())
	}
	if text := call(t, "crowd", "report", out).stdout; !strings.Contains(text, "read, hits ") || !strings.Contains(text, "read, bytes saved ") {
		t.Errorf("the report says nothing of caches: %s", text)
	}
	if text := heddleDoes(t, "crowd", "why", "1", book); !strings.Contains(text, "CACHE") || !strings.Contains(text, "fresh") || !strings.Contains(text, "page 1: ") {
		t.Errorf("why says nothing of caches: %s", text)
	}
	nothingLeft(t)
}

// checkRound: all that was planned happened, of so many behaviours.
func checkRound(t *testing.T, r report.Round, behaviours int) {
	t.Helper()
	for name, s := range r.Behaviours {
		if s.Intended == 0 || s.Achieved != s.Intended {
			t.Errorf("%s: %s: %+v", r.Mode, name, s)
		}
	}
	if len(r.Behaviours) != behaviours || len(r.Failures) > 0 || r.Calls.Count == 0 || r.Calls.MOSP50 <= 1 || r.Videos.Count == 0 ||
		r.Actions["web.page"].Planned.P50 <= 0 || r.Actions["dns.query"].Count == 0 || r.Actions["dns.query"].Failed > 0 || r.Attached <= 0 || r.Detached <= 0 || r.Users != 12 {
		t.Errorf("%+v", r)
	}
}

// checkCaptured: each user's interface had the packets of all flows that have a label, and of no others of the users'.
func checkCaptured(t *testing.T, r report.Report, book, seen string) {
	t.Helper()
	var c label.Coverage
	if err := json.Unmarshal([]byte(heddleDoes(t, "crowd", "labels", book, "--check", seen, "-o", "json")), &c); err != nil || c.Flows < 100 || c.Unseen+len(c.Unlabelled)+len(c.Twice) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
	packets, dropped := uint64(0), uint64(0)
	for _, one := range r.Rounds {
		if one.Captured == nil || one.Captured.Packets == 0 {
			t.Fatalf("%s: nothing was captured", one.Mode)
		}
		packets, dropped = packets+one.Captured.Packets, dropped+one.Captured.Dropped
	}
	if packets < uint64(c.Packets) || dropped != c.Dropped {
		t.Errorf("%d packets, %d dropped; %+v", packets, dropped, c)
	}
	if is, err := os.Stat(seen); err != nil || is.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", is, err)
	}
}

// seesRun waits until others see that a crowd does something in a mode, and shows it to them.
func seesRun(t *testing.T, mode string) {
	t.Helper()
	var all list[live.Run]
	_, err := poll.Until(time.Minute, 100*time.Millisecond, func() error {
		text := heddleDoes(t, "crowd", "status", "-o", "json")
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return poll.Final(err)
		}
		if len(all.Items) != 1 || all.Items[0].Now == nil || all.Items[0].Now.Sessions().Started == 0 {
			return errors.New(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if run := all.Items[0]; run.Crowd != "players" || run.Users != 12 || run.Now.Mode != mode || run.Now.Due == 0 || run.Stage == "" {
		t.Errorf("%+v", run)
	}
	if shown := heddleDoes(t, "crowd", "status"); !strings.Contains(shown, "mode "+mode) || !strings.Contains(shown, "are due") {
		t.Error(shown)
	}
}

// checkClassified: what a diary has of a round is what a crowd that is drawn with the same seed would do, but for the times.
// There are too few sessions for a verdict.
func checkClassified(t *testing.T, r report.Round, file string) {
	t.Helper()
	author := script.NewAuthor(t.Context())
	defer author.Close()
	p, err := classifier.Read(t.Context(), file, r.Mode, 1, author)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := p.Draw(t.Context(), p.Run.Seed)
	if err != nil {
		t.Fatal(err)
	}
	timeless := func(s classifier.Session) (all []classifier.Step) {
		for _, step := range s.Steps {
			step.Pause, step.Lasted = 0, 0
			all = append(all, step)
		}
		return all
	}
	if !slices.EqualFunc(p.Sessions, planned, func(a, b classifier.Session) bool {
		return a.User == b.User && a.Behaviour == b.Behaviour && !a.Cut && slices.Equal(timeless(a), timeless(b))
	}) {
		t.Errorf("%s: played were %+v, and planned %+v", r.Mode, p.Sessions, planned)
	}
	if got := call(t, "crowd", "classify", file, "--mode", r.Mode); got.code != 1 || !strings.Contains(got.stderr, "too few sessions of") || !strings.Contains(got.stdout, "too few") {
		t.Errorf("%+v", got)
	}
}

// checkDiaries: all steps of a round are in its users' diaries, as planned, and each user's flows come from its own
// addresses.
func checkDiaries(t *testing.T, r report.Round, file string) {
	t.Helper()
	steps, owners := int64(0), map[netip.Addr]int{}
	for user := 1; user <= r.Users; user++ {
		var why crowdWhy
		got := call(t, "crowd", "why", strconv.Itoa(user), file, "--mode", r.Mode, "-o", "json")
		if err := json.Unmarshal([]byte(got.stdout), &why); err != nil || why.Round.Mode != r.Mode {
			t.Fatalf("%v: %+v", err, got)
		}
		planned := 0
		for _, one := range why.Planned.Sessions {
			planned += len(one.Steps)
		}
		if planned != len(why.Steps) || planned > 0 && len(why.Flows) == 0 {
			t.Errorf("%s: user %d: %d steps planned, %d done, %d flows", r.Mode, user, planned, len(why.Steps), len(why.Flows))
		}
		steps += int64(len(why.Steps))
		for _, f := range why.Flows {
			if owner, known := owners[f.From.Addr()]; known && owner != user || !f.From.IsValid() || f.From == f.To {
				t.Errorf("%s: user %d: %+v is also of user %d", r.Mode, user, f, owner)
			}
			owners[f.From.Addr()] = user
		}
	}
	for name, a := range r.Actions {
		if name != "dns.query" {
			steps -= a.Count
		}
	}
	if steps != 0 {
		t.Errorf("%s: the diaries have %d steps more than the report", r.Mode, steps)
	}
}

// TestCrowdRunEnds: whatever of a run is killed, it ends with what it has, and nothing is left.
func TestCrowdRunEnds(t *testing.T) {
	if !alone(t) {
		return
	}
	file := scenarioFile(t, strings.Replace(players, "length: 3s", "length: 10m", 1))
	for name, end := range map[string]func(*crowdRun){
		"killed": func(r *crowdRun) { r.cmd.Process.Kill() },
		"terminated": func(r *crowdRun) {
			if out, err := exec.Command("pkill", "-KILL", "-f", "nginx: master").CombinedOutput(); err != nil { // the run goes on
				t.Errorf("%v: %s", err, out)
			}
			r.awaits(t, "service web: nginx ended: signal: killed")
			r.cmd.Process.Signal(syscall.SIGTERM)
		},
		"its lab is removed": func(*crowdRun) {
			var all list[lab.Lab]
			if err := json.Unmarshal([]byte(heddleDoes(t, "lab", "list", "-o", "json")), &all); err != nil || len(all.Items) != 1 {
				t.Fatalf("%v: %+v", err, all)
			}
			heddleDoes(t, "lab", "down", all.Items[0].Name)
		},
	} {
		out := filepath.Join(t.TempDir(), "report.json")
		run := runCrowd(t, file, "--modes", "bridge", "--out", out)
		run.awaits(t, "playing for")
		seesRun(t, "bridge")
		end(run)
		err := run.cmd.Wait()
		if err == nil {
			t.Errorf("%s: the run succeeded", name)
		}
		if name == "its lab is removed" && !strings.Contains(run.stderr.String(), "the host has ended") {
			t.Errorf("%s: %s", name, run.stderr.String())
		}
		if name != "killed" {
			if r, err := report.Read(out); err != nil || len(r.Rounds) != 1 || r.Partial == "" || r.Rounds[0].Invalid == "" || len(r.Rounds[0].Actions) == 0 ||
				name == "terminated" && !strings.Contains(r.Rounds[0].Ended["web"], "killed") {
				t.Errorf("%s: %+v, %v\n%s", name, r, err, run.stderr.String())
			}
		}
		nothingLeft(t)
	}
}
