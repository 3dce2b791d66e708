package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/report"
)

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
	long := scenarioFile(t, strings.NewReplacer("length: 3s", "length: 10m", "share: 100%", "share: 100%, link: {delay: 100ms}").Replace(players))

	killed := runCrowd(t, long, "--network", "web")
	killed.awaits(t, "playing for")
	if out, err := exec.Command("heddle", "crowd", "run", short, "--network", "web").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), string(heddle.EndpointDiffers)) {
		t.Errorf("two crowds on one network: %v, %s", err, out)
	}
	if got := heddleDoes(t, "endpoint", "list", "-q"); len(strings.Fields(got)) != 12+4 {
		t.Errorf("the second one changed the first: %s", got)
	}
	heddleDoes(t, "audit") // links are nothing amiss
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
