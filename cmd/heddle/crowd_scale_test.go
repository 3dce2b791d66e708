package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/live"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/test/poll"
)

// attached is how many users the agent has, beside players' services.
func attached(t *testing.T) int {
	t.Helper()
	return len(strings.Fields(heddleDoes(t, "endpoint", "list", "-q"))) - 4
}

// scaled gives players of a network of this host other numbers of users.
func scaled(t *testing.T) {
	t.Helper()
	refused := func(code heddle.Code, want, users string) {
		t.Helper()
		before := attached(t)
		if got := call(t, "crowd", "scale", "--", users); got.code == 0 || !strings.Contains(got.stderr, string(code)) || !strings.Contains(got.stderr, want) {
			t.Errorf("%s users: %+v", users, got)
		}
		if now := attached(t); now != before {
			t.Errorf("%s users were refused; %d were attached, and %d are", users, before, now)
		}
	}
	is := func(want int) {
		t.Helper()
		if got := attached(t); got != want {
			t.Errorf("%d users are attached, not %d", got, want)
		}
	}
	if got := heddleDoes(t, "crowd", "scale", "20"); !strings.HasPrefix(got, "players: 12 users, then 20, in ") {
		t.Error(got)
	}
	is(20)
	if got := heddleDoes(t, "crowd", "scale", "20"); got != "players has 20 users already\n" {
		t.Error(got)
	}
	for _, users := range []string{"0", "-1", "2000000", "many", ""} {
		refused(heddle.BadArgument, "give 1 to 1000000", users)
	}
	refused(heddle.CrowdTooLarge, "give a smaller number", "100000")
	refused(heddle.PoolExhausted, "10.20.0.0/26", "80")
	heddleDoes(t, "crowd", "fault", "link", "player", "--delay", "50ms") // which those who come have, too
	var scaling sync.WaitGroup
	for users := 21; users < 30; users++ { // one after the other, in any order
		scaling.Go(func() { heddleDoes(t, "crowd", "scale", fmt.Sprint(users)) })
	}
	scaling.Wait()
	var all list[live.Run]
	if err := json.Unmarshal([]byte(heddleDoes(t, "crowd", "status", "-o", "json")), &all); err != nil || len(all.Items) != 1 || all.Items[0].Now == nil {
		t.Fatalf("%v: %+v", err, all)
	}
	heddleDoes(t, "audit")
	if got := heddleDoes(t, "crowd", "scale", "3"); !strings.Contains(got, " users, then 3, in ") {
		t.Error(got)
	}
	is(3)
	heddleDoes(t, "audit")
	poll.For(t, time.Minute, 100*time.Millisecond, "status shows the present number, and how it came to be", func() bool {
		if err := json.Unmarshal([]byte(heddleDoes(t, "crowd", "status", "-o", "json")), &all); err != nil {
			t.Fatal(err)
		}
		now := all.Items[0].Now
		return now.Present == 3 && now.Users == 12 && len(now.Scales) == 12 && now.Scales[1].Failed != "" && now.Scales[1].Now() == 20
	})
	if got := heddleDoes(t, "crowd", "status"); !strings.Contains(got, "12 users, then 20, attached in ") || !strings.Contains(got, "20 users, then 20, for 80 failed after ") {
		t.Error(got)
	}
}

// amidScale ends a run while more users are being attached; who waits is told so.
func amidScale(t *testing.T, end func(), want string) {
	t.Helper()
	before := attached(t)
	var got outcome
	var scaling sync.WaitGroup
	scaling.Go(func() { got = call(t, "crowd", "scale", "45") })
	poll.For(t, time.Minute, time.Millisecond, "some of them are attached", func() bool { // asked from here, which is quick
		all := callEnv(t, map[string]string{"HEDDLE_SOCKET": os.Getenv("HEDDLE_SOCKET")}, "endpoint", "list", "-q")
		return len(strings.Fields(all.stdout))-4 > before
	})
	end()
	scaling.Wait()
	if got.code == 0 || !strings.Contains(got.stderr, want) {
		t.Errorf("the run ended amid a scale: %+v", got)
	}
}

// endsCrowd ends the run that goes on, of which nothing is left then.
func endsCrowd(t *testing.T) {
	t.Helper()
	if got := heddleDoes(t, "crowd", "down"); got != "players has ended\n" {
		t.Error(got)
	}
	if got := heddleDoes(t, "crowd", "status"); got != "" {
		t.Errorf("status shows %s", got)
	}
	if got := call(t, "crowd", "down"); got.code == 0 || !strings.Contains(got.stderr, "no crowd of yours plays") {
		t.Errorf("there is none: %+v", got)
	}
}

// endsAmidScale: a run that is interrupted while more users are being attached leaves nothing, and says so in its report.
func endsAmidScale(t *testing.T, file string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "report.json")
	run := runCrowd(t, file, "--network", "web", "--out", out)
	run.awaits(t, "playing for")
	seesRun(t, "bridge")
	amidScale(t, func() { endsCrowd(t) }, "the round ended before")
	if run.cmd.Wait(); run.cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("it was not interrupted: %s", run.cmd.ProcessState)
	}
	if got := heddleDoes(t, "endpoint", "list", "-q"); got != "" {
		t.Errorf("it left %s", got)
	}
	r, err := report.Read(out)
	if err != nil || len(r.Rounds) != 1 || len(r.Rounds[0].Scales) != 1 {
		t.Fatalf("%v: %+v", err, r)
	}
	if s := r.Rounds[0].Scales[0]; s.From != 12 || s.Now() != 12 || s.To != 45 || s.Failed == "" {
		t.Errorf("%+v", s)
	}
}
