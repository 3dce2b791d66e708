package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/label"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/test/soak"
)

// TestCrowdRunHere plays on a network of this host. Whoever is killed, the agent removes the crowd.
func TestCrowdRunHere(t *testing.T) {
	soak.Turn(t, 2)
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
	heddleDoes(t, "network", "create", "web", "--mode", "bridge", "--subnet", "10.20.0.0/26", "--subnet", "fd20::/64")
	short := scenarioFile(t, players)
	long := scenarioFile(t, strings.NewReplacer("length: 3s", "length: 10m", "share: 100%", "share: 100%, link: {delay: 100ms}", "{by: nginx, tls: true}", "{sites: 1}", "read: 20/m", "read: 10/m", "next: {page: 0.7, end: 0.3}", "next: {end: 1}").Replace(players))

	killed := runCrowd(t, long, "--network", "web")
	killed.awaits(t, "playing for")
	seesRun(t, "bridge")
	if out, err := exec.Command("heddle", "crowd", "run", short, "--network", "web").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), string(heddle.EndpointDiffers)) {
		t.Errorf("two crowds on one network: %v, %s", err, out)
	}
	if got := heddleDoes(t, "endpoint", "list", "-q"); len(strings.Fields(got)) != 12+4 {
		t.Errorf("the second one changed the first: %s", got)
	}
	heddleDoes(t, "audit") // links are nothing amiss
	if got := heddleDoes(t, "crowd", "fault", "service", "web", "down"); got != "service web down, until it is cleared, or the round ends\n" {
		t.Error(got)
	}
	scaled(t)
	amidScale(t, func() { killed.cmd.Process.Kill() }, "it ended")
	killed.cmd.Wait()
	if got := heddleDoes(t, "crowd", "status"); got != "" {
		t.Errorf("a run that was killed is shown: %s", got)
	}
	awaitNobody(t)
	endsAmidScale(t, long)

	out, book, seen := filepath.Join(dir, "report.json"), filepath.Join(dir, "diary.jsonl"), filepath.Join(dir, "seen.pcap")
	captured := capturing(t, seen)
	run := runCrowd(t, short, "--network", "web", "--rounds", "2", "--out", out, "--diary", book)
	run.awaits(t, "playing for")
	if got := call(t, "crowd", "scale", "20"); got.code != 2 || !strings.Contains(got.stderr, "services are by nginx") {
		t.Errorf("a crowd whose services are by a program is scaled: %+v", got)
	}
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
		checkRound(t, one, 4)
	}
	captured()
	again := runCrowd(t, short, "--network", "web", "--rounds", "3", "--out", out, "--resume")
	again.ends(t)
	if more, err := report.Read(out); err != nil || !slices.ContainsFunc(more.Rounds, func(one report.Round) bool { return one.Number == 3 }) ||
		strings.Contains(again.stderr.String(), "round 1 of 3") && r.Rounds[0].Invalid == "" {
		t.Errorf("%v, %+v\n%s", err, more, again.stderr.String())
	}
	awaitNobody(t)
	checkLabelled(t, book, seen)
	heddleDoes(t, "network", "delete", "web")
	heddleDoes(t, "audit")
}

// capturing captures all packets of this host, until what it returns is called.
func capturing(t *testing.T, file string) (end func()) {
	t.Helper()
	cmd := exec.Command("tcpdump", "-i", "any", "-n", "-w", file, "-B", "65536", "--immediate-mode")
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	words := bufio.NewScanner(said)
	for words.Scan() && !strings.Contains(words.Text(), "listening on") {
	}
	if !strings.Contains(words.Text(), "listening on") {
		t.Fatalf("tcpdump does not listen: %v", cmd.Wait())
	}
	end = sync.OnceFunc(func() {
		cmd.Process.Signal(syscall.SIGINT)
		for words.Scan() {
			t.Log(words.Text())
		}
		cmd.Wait()
	})
	t.Cleanup(end)
	return end
}

// checkLabelled: each flow that was captured has a label, and is missed if it has none.
func checkLabelled(t *testing.T, book, seen string) {
	t.Helper()
	var c label.Coverage
	whole, err := os.ReadFile(book)
	if err != nil {
		t.Fatal(err)
	}
	var half strings.Builder
	flows := 0
	for line := range strings.Lines(string(whole)) {
		if strings.HasPrefix(line, `{"flow"`) {
			if flows++; flows%2 == 0 {
				continue
			}
		}
		half.WriteString(line)
	}
	lacking := filepath.Join(t.TempDir(), "half.jsonl")
	if err := os.WriteFile(lacking, []byte(half.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := call(t, "crowd", "labels", lacking, "--check", seen); got.code != 1 || !strings.Contains(got.stderr, "without a label, such as ") {
		t.Errorf("half of the labels are away, and not missed: %+v", got)
	}
	if err := json.Unmarshal([]byte(heddleDoes(t, "crowd", "labels", book, "--check", seen, "-o", "json")), &c); err != nil || c.Flows < 20 || c.Flows < 9*c.Unseen {
		t.Errorf("%v, %+v", err, c)
	}
}
