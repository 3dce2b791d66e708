package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/live"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
)

// eventful are people to whom something happens. All read at the end, so that the round is not over before.
const eventful = `
crowd: eventful
users: 12
seed: 3
clock: {start: "Mon 09:00", length: 8s}
services: {chat: {sites: 1}}
personas:
  far: {share: 50%, link: {delay: 20ms}, does: {read: 30/m}}
  near: {share: 50%, link: sound, does: {read: 30/m, write: 60/m}}
behaviours:
  read:
    start: page
    patience: 1m
    states:
      page: {do: web.page, sends: 300B, receives: 10KB, expect: 5ms, next: {end: 1}}
  write:
    start: connect
    states:
      connect: {do: chat.connect, sends: 100B, receives: 100B, keep: true, expect: 5ms, next: {message: 1}}
      message: {do: chat.message, sends: 50B, receives: 50B, connections: 0, expect: 5ms, think: 50ms, next: {message: 0.9, end: 0.1}}
events:
  - {at: 5s, for: 1s, service: chat, fault: silent}
  - {at: 0s, for: 7s, persona: far, link: {delay: 60ms}}
  - {at: 7s, for: 900ms, gather: read, share: 100%}
`

// TestCrowdEvents: what the scenario says happens, and what is told to the run while it plays; all of it is written down.
func TestCrowdEvents(t *testing.T) {
	soak.Turn(t, 2)
	if !alone(t) {
		return
	}
	refused := func(code heddle.Code, want string, args ...string) {
		t.Helper()
		if got := call(t, append([]string{"crowd", "fault"}, args...)...); got.code == 0 || !strings.Contains(got.stderr, want) || !strings.Contains(got.stderr, string(code)) {
			t.Errorf("%v: %+v", args, got)
		}
	}
	does := func(args ...string) string { // in this process: the round does not wait
		t.Helper()
		got := call(t, args...)
		if got.code != 0 {
			t.Errorf("%v: %+v", args, got)
		}
		return got.stdout
	}
	refused(heddle.CrowdFailed, "no crowd of yours plays", "clear")
	file, out, book := scenarioFile(t, eventful), filepath.Join(t.TempDir(), "report.json"), filepath.Join(t.TempDir(), "diary.jsonl")
	run := runCrowd(t, file, "--modes", "bridge", "--out", out, "--diary", book)
	run.awaits(t, "playing for")
	if _, err := poll.Until(time.Minute, 10*time.Millisecond, func() error {
		if got := call(t, "crowd", "fault", "service", "web", "silent", "--for", "500ms"); got.code != 0 {
			return errors.New(got.stderr)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var told crowdTold
	if err := json.Unmarshal([]byte(does("crowd", "fault", "link", "near", "--delay", "30ms", "--loss", "1%", "-o", "json")), &told); err != nil ||
		told.Crowd != "eventful" || !slices.ContainsFunc(told.Events, func(e diary.Event) bool { return e.ByHand && e.String() == "link of near: delay 30ms, loss 1%" }) {
		t.Errorf("%v: %+v", err, told)
	}
	refused(heddle.BadArgument, "choose from chat, web", "service", "mail", "down")
	refused(heddle.BadArgument, "there is no persona", "link", "nobody", "--delay", "1s")
	refused(heddle.BadArgument, "it is the persona's own link", "link", "far", "--delay", "20ms")
	refused(heddle.BadArgument, "it is not said how", "link", "far")
	refused(heddle.BadArgument, "choose from down, silent", "service", "web", "slow")
	refused(heddle.CrowdFailed, "there are only: eventful of process", "clear", "--pid", "1")
	other, err := live.Serve(live.Run{Crowd: "other"}, func(event.Command) (event.Done, error) { return event.Done{}, errors.New("it is the other one") }, nil)
	if err != nil {
		t.Fatal(err)
	}
	refused(heddle.Ambiguous, "give --pid", "clear")
	refused(heddle.CrowdFailed, "it is the other one", "clear", "--pid", strconv.Itoa(os.Getpid()))
	if got := does("crowd", "fault", "clear", "--pid", strconv.Itoa(run.cmd.Process.Pid)); got != "what was given by hand has ended\n" {
		t.Error(got)
	}
	other.Close()
	var grown crowdScaled
	if err := json.Unmarshal([]byte(does("crowd", "scale", "16", "-o", "json")), &grown); err != nil || grown.From != 12 || grown.To != 16 || grown.Crowd != "eventful" || grown.Took <= 0 {
		t.Errorf("%v: %+v", err, grown)
	}
	does("crowd", "scale", "14", "--pid", strconv.Itoa(run.cmd.Process.Pid))
	does("crowd", "fault", "service", "chat", "down") // until the round's end
	for words, want := range map[string]string{"service ": "chat\nweb\n:", "service web ": "down\nsilent\n:", "link ": "far\nnear\n:", "link far ": ":", "clear ": ":"} {
		if got := does(append([]string{"__complete", "crowd", "fault"}, strings.Split(words, " ")...)...); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q", words, got)
		}
	}
	if got := does("__complete", "crowd", "scale", ""); !strings.HasPrefix(got, ":") {
		t.Errorf("a number is completed as %q", got)
	}
	if got := does("__complete", "crowd", "scale", "3", "--pid", ""); !strings.HasPrefix(got, strconv.Itoa(run.cmd.Process.Pid)+"\teventful\n") {
		t.Errorf("the run is completed as %q", got)
	}
	run.ends(t)
	r, err := report.Read(out)
	if err != nil || len(r.Rounds) != 1 || len(r.Events) != 3 {
		t.Fatalf("%v: %+v\n%s", err, r, run.stderr.String())
	}
	checkHappened(t, r, out, book)
	checkScaled(t, r, out, book)
	nothingLeft(t)
}

// checkHappened: report and diary have all events, people noticed them, and flows have labels as ever.
func checkHappened(t *testing.T, r report.Report, file, book string) {
	t.Helper()
	one := r.Rounds[0]
	var words []string
	for _, e := range one.Events {
		words = append(words, fmt.Sprintf("%d %v %s", e.Number, e.ByHand, e))
		if e.Ended <= e.Began {
			t.Errorf("%+v", e)
		}
	}
	slices.Sort(words)
	want := []string{"0 true link of near: delay 30ms, loss 1%", "0 true service chat down", "0 true service web silent",
		"1 false service chat silent", "2 false link of far: delay 60ms", "3 false 100% begin read"}
	if !slices.Equal(words, want) {
		t.Errorf("%q", words)
	}
	if s := one.Behaviours["read"]; s.Intended < 12 || s.Achieved+s.Left != s.Intended {
		t.Errorf("read: %+v", s)
	}
	if one.Actions["web.page"].Service.Max < 120*time.Millisecond { // a round trip on the worse link
		t.Errorf("%+v", one.Actions["web.page"])
	}
	shown := call(t, "crowd", "report", file)
	for _, line := range []string{"event: +0:00:05, for 1s: service chat silent\n", "by hand: +round 1, mode bridge, 0:00:0[0-9], for .*: service web silent\n"} {
		if !regexp.MustCompile(line).MatchString(shown.stdout) {
			t.Errorf("no %q in %s", line, shown.stdout)
		}
	}
	var why crowdWhy
	if err := json.Unmarshal([]byte(heddleDoes(t, "crowd", "why", "1", book, "-o", "json")), &why); err != nil || len(why.Events) < 3 {
		t.Errorf("%v: %+v", err, why.Events)
	}
	for _, e := range why.Events {
		if e.Ended == 0 || e.Link != nil && e.Persona != why.Planned.Persona {
			t.Errorf("of a %s: %+v", why.Planned.Persona, e)
		}
	}
	if text := heddleDoes(t, "crowd", "why", "1", book, "-o", "wide"); !regexp.MustCompile("(?s)0:00:07 +event 3 +100% begin read.*read [0-9]+, event 3 +web.page").MatchString(text) {
		t.Error(text)
	}
	if got := heddleDoes(t, "crowd", "labels", book); !strings.Contains(got, "web.page") {
		t.Error(got)
	}
}

// checkScaled: report and diary say that there were other users for a while, and who.
func checkScaled(t *testing.T, r report.Report, file, book string) {
	t.Helper()
	one := r.Rounds[0]
	if len(one.Scales) != 2 || one.Users != 12 || one.MemoryPerUser != 0 {
		t.Fatalf("%+v, %d users, %d bytes each", one.Scales, one.Users, one.MemoryPerUser)
	}
	if more, fewer := one.Scales[0], one.Scales[1]; more.Now() != 16 || fewer.From != 16 || fewer.Now() != 14 || more.Took <= 0 || fewer.Began < more.Began+more.Took {
		t.Errorf("%+v", one.Scales)
	}
	if shown := call(t, "crowd", "report", file); !regexp.MustCompile("scaled: +round 1, mode bridge, 0:00:0[0-9]: 16 users, then 14, detached in ").MatchString(shown.stdout) {
		t.Errorf("%s", shown.stdout)
	}
	if shown := call(t, "crowd", "compare", file, file); !strings.Contains(shown.stdout+shown.stderr, "only the first was scaled, in round 1, mode bridge: 12 users, then 16") {
		t.Errorf("%+v", shown)
	}
	for user, rows := range map[string]int{"12": 0, "13": 1, "16": 2} {
		if text := heddleDoes(t, "crowd", "why", user, book); strings.Count(text, " users, then ") != rows {
			t.Errorf("why %s: %s", user, text)
		}
	}
	if got := call(t, "crowd", "why", "17", book); got.code == 0 || !strings.Contains(got.stderr, "the crowd has no such user") {
		t.Errorf("%+v", got)
	}
}
