package lab_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
)

func TestTwoLabs(t *testing.T) {
	needRoot(t)
	before, dir := survey(t), t.TempDir()
	labs := map[string]*lab.Lab{}
	for _, name := range []string{"warp", "weft"} {
		l, err := lab.Up(t.Context(), lab.Options{Name: name, Dir: dir, NoAgent: true})
		if err != nil {
			t.Fatal(err)
		}
		labs[name] = l
		defer l.Down(context.Background())
	}
	if p := processesOf(dir); len(p) < 6 || len(cgroups(dir)) == 0 {
		t.Errorf("the survey is blind: %v", p)
	}
	if all, err := lab.List(dir); err != nil || len(all) != 2 || all[0].Name != "warp" || !all[1].Alive() {
		t.Errorf("list: %v, %v", all, err)
	}
	again, err := lab.Up(t.Context(), lab.Options{Name: "warp", Dir: dir, NoAgent: true})
	if err != nil || again.Hosts[0].Pid != labs["warp"].Hosts[0].Pid {
		t.Errorf("the same lab again: %v", err)
	}
	if _, err := lab.Up(t.Context(), lab.Options{Name: "warp", Dir: dir, NoAgent: true, MTU: 1400}); err == nil {
		t.Error("another lab of the same name was made")
	}
	if err := labs["warp"].Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	in(t, labs["weft"], "host1", "ping", "-c1", "-W20", "host2")
	l, err := lab.Load(dir, "weft")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Down(t.Context()); err != nil {
			t.Error(err)
		}
	}
	noTrace(t, before, dir)
}

// A process that entered a host's network namespace only is named, not killed.
func TestStray(t *testing.T) {
	needRoot(t)
	before, dir := survey(t), t.TempDir()
	l, err := lab.Up(t.Context(), lab.Options{Dir: dir, Hosts: 1, NoAgent: true})
	if err != nil {
		t.Fatal(err)
	}
	stray := exec.Command("nsenter", "--net="+l.Hosts[0].Netns, "sleep", "60")
	if err := stray.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nsenter has become sleep", func() bool {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", stray.Process.Pid))
		return string(name) == "sleep\n"
	})
	if err := l.Down(t.Context()); err == nil || !strings.Contains(err.Error(), "(sleep) in host1") {
		t.Errorf("down: %v", err)
	}
	if stray.ProcessState != nil || syscall.Kill(stray.Process.Pid, 0) != nil {
		t.Error("the stray was killed")
	}
	stray.Process.Kill()
	stray.Wait()
	noTrace(t, before, dir)
}

// Down works after the lab's processes were killed at random.
func TestDownAfterDeaths(t *testing.T) {
	needRoot(t)
	before, dir := survey(t), t.TempDir()
	l, err := lab.Up(t.Context(), lab.Options{Dir: dir, Hosts: 3, AgentCommand: testAgent(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []*lab.Host{l.Switches[0], l.Hosts[1]} {
		syscall.Kill(h.Pid, syscall.SIGKILL)
	}
	eventually(t, "deaths noticed", func() bool { return !l.Alive() })
	if _, err := lab.Up(t.Context(), lab.Options{Dir: dir, Hosts: 3, AgentCommand: testAgent(t)}); err == nil {
		t.Error("half a lab was taken for a whole one")
	}
	if l, err = lab.Load(dir, "lab"); err != nil {
		t.Fatal(err)
	}
	if err := l.Down(t.Context()); err != nil {
		t.Error(err)
	}
	noTrace(t, before, dir)
}

// A lab whose making was cut short at the first step can be listed and removed.
func TestHalfMade(t *testing.T) {
	needRoot(t)
	before, dir := survey(t), t.TempDir()
	for file, content := range map[string]string{"a/host1/spec.json": "{}", "b/lab.json": "{\"hosts\": [", "c/x": ""} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755)
		os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600)
	}
	all, err := lab.List(dir)
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	for _, l := range all {
		if _, err := lab.Up(t.Context(), lab.Options{Name: l.Name, Dir: dir, NoAgent: true}); err == nil || l.Alive() {
			t.Errorf("lab %s counts as made", l.Name)
		}
		if err := l.Down(t.Context()); err != nil {
			t.Error(err)
		}
	}
	noTrace(t, before, dir)
}

// A lab can be made if the folder of an earlier one is gone but its cgroups are not.
func TestGroupsLeft(t *testing.T) {
	needRoot(t)
	before, dir := survey(t), t.TempDir()
	l, err := lab.Up(t.Context(), lab.Options{Dir: dir, Hosts: 1, NoAgent: true})
	if err != nil {
		t.Fatal(err)
	}
	syscall.Kill(l.Hosts[0].Pid, syscall.SIGKILL)
	for _, sw := range l.Switches {
		syscall.Kill(sw.Pid, syscall.SIGKILL)
	}
	poll.For(t, time.Minute, time.Millisecond, "host and switch are dead", func() bool { return !l.Hosts[0].Alive() && !l.Switches[0].Alive() })
	if err := os.Rename(filepath.Join(dir, "lab"), filepath.Join(t.TempDir(), "gone")); err != nil {
		t.Fatal(err)
	}
	l, err = lab.Up(t.Context(), lab.Options{Dir: dir, Hosts: 1, NoAgent: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Down(t.Context()); err != nil {
		t.Error(err)
	}
	noTrace(t, before, dir)
}

// A process with the PID of a dead host is left alone.
func TestRecycledPid(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	l, err := lab.Up(t.Context(), lab.Options{Dir: dir, Hosts: 1, NoAgent: true})
	if err != nil {
		t.Fatal(err)
	}
	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer bystander.Wait()
	defer bystander.Process.Kill()
	old := l.Hosts[0].Pid
	syscall.Kill(old, syscall.SIGKILL)
	record := filepath.Join(dir, "lab", "lab.json")
	b, _ := os.ReadFile(record)
	var doc map[string]any
	json.Unmarshal(b, &doc)
	doc["hosts"].([]any)[0].(map[string]any)["pid"] = bystander.Process.Pid
	b, _ = json.Marshal(doc)
	os.WriteFile(record, b, 0o600)
	if l, err = lab.Load(dir, "lab"); err != nil || l.Alive() {
		t.Fatal("a stranger passes for a host", err)
	}
	if err := l.Down(t.Context()); err != nil {
		t.Error(err)
	}
	if syscall.Kill(bystander.Process.Pid, 0) != nil {
		t.Error("the bystander was killed")
	}
}

// The maker is killed at a random moment. Then Down leaves nothing.
func TestKilledMaker(t *testing.T) {
	needRoot(t)
	before, dir := survey(t), t.TempDir()
	options, _ := json.Marshal(lab.Options{Name: "cut", Dir: dir, Hosts: 4, AgentCommand: testAgent(t)})
	rounds, made := 30, 0
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		maker := exec.Command(os.Args[0], "test-up", string(options))
		if err := maker.Start(); err != nil {
			t.Fatal(err)
		}
		wait := time.Duration(rand.IntN(250)) * time.Millisecond
		time.Sleep(wait)
		maker.Process.Kill()
		maker.Wait()
		l, err := lab.Load(dir, "cut")
		if err == nil {
			if l.Ready {
				made++
			}
			err = l.Down(t.Context())
		}
		if err != nil && !errors.Is(err, heddle.NoLab.Sentinel()) {
			t.Errorf("killed after %v: %v", wait, err)
		}
		noTrace(t, before, dir)
		if t.Failed() {
			t.Fatalf("killed after %v", wait)
		}
	}
	t.Logf("%d of %d labs were finished before the kill", made, rounds)
}

// TestBound: a lab ends with the process that raised it, at whichever moment that is killed.
func TestBound(t *testing.T) {
	needRoot(t)
	before, dir := survey(t), t.TempDir()
	for _, wait := range []string{"starting", "wiring", "is up"} {
		maker := exec.Command(os.Args[0], "test-bound", dir)
		out, err := maker.StdoutPipe()
		if err == nil {
			err = maker.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), wait); {
		}
		if all, err := lab.List(dir); err != nil || len(all) != 1 {
			t.Fatalf("%s: %v, %v", wait, all, err)
		}
		maker.Process.Kill()
		maker.Wait()
		noTrace(t, before, dir)
		if t.Failed() {
			t.Fatalf("killed at: %s", wait)
		}
	}
}

func TestManyHosts(t *testing.T) {
	soak.Turn(t, 2)
	for _, n := range []int{2, 32} {
		start := time.Now()
		l := up(t, lab.Options{Name: "many", Hosts: n, AgentCommand: testAgent(t)})
		took := time.Since(start)
		in(t, l, "host1", "ping", "-c1", "-W20", l.Hosts[n-1].Name)
		start = time.Now()
		if err := l.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d hosts: up in %v, down in %v", n, took, time.Since(start))
		if took > 3*time.Minute {
			t.Errorf("%d hosts took %v", n, took)
		}
	}
}
