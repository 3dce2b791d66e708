package vm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab/boot"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// TestInGuests boots every kernel and runs the TestGuest tests below in it.
func TestInGuests(t *testing.T) { RunInGuests(t, "^TestGuest") }

// TestBadGuests shows that a guest whose tests go wrong is seen as such.
func TestBadGuests(t *testing.T) {
	if InGuest() {
		t.Skip("already in a guest")
	}
	if reason := boot.Missing(); reason != "" {
		skip(t, reason)
	}
	kernels := boot.Kernels()
	var longest time.Duration
	for _, c := range []struct {
		behaviour, console, err string
		exit                    int
		timeout                 time.Duration
	}{
		{"fail", "--- FAIL: TestBehave", "", 1, time.Minute},
		{"crash", "panic: on purpose", "without an exit line", -1, time.Minute},
		{"hang", "hanging on purpose", "stopped after", -1, 0},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			if c.timeout == 0 { // what another guest needed for its whole life is enough to begin to hang
				c.timeout = max(2*longest, 15*time.Second)
			}
			start := time.Now()
			defer func() { longest = max(longest, time.Since(start)) }()
			g := Guest{Kernel: kernels[len(kernels)-1], Modules: []string{}, Tools: []string{}, Timeout: c.timeout,
				Args: []string{"-test.v", "-test.run=^TestBehave$", c.behaviour}}
			console, exit, err := g.Run(context.Background(), t.TempDir())
			if exit != c.exit || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("exit %d, error %v, want %d, %q\n%s", exit, err, c.exit, c.err, tail(console, 40))
			}
			if !strings.Contains(console, c.console) {
				t.Errorf("the console lacks %q:\n%s", c.console, tail(console, 40))
			}
		})
	}
}

// behave runs this binary's TestBehave in a process of its own.
func behave(t *testing.T, behaviour string, env ...string) (out string, failed bool) {
	t.Helper()
	cmd := exec.Command(boot.Self, "-test.v", "-test.run=^TestBehave$", behaviour)
	cmd.Env = append(os.Environ(), env...)
	b, err := cmd.CombinedOutput()
	return string(b), err != nil
}

// TestRunInGuestsWithoutKernels sees the test skipped, or failed where guests are required.
func TestRunInGuestsWithoutKernels(t *testing.T) {
	if InGuest() {
		t.Skip("already in a guest")
	}
	if reason := boot.MissingHere(); reason != "" {
		skip(t, reason)
	}
	cache := "HEDDLE_CACHE=" + t.TempDir()
	out, failed := behave(t, "boot nothing", cache, requireVariable+"=0")
	if failed || !strings.Contains(out, "--- SKIP: TestBehave/linux-6.12") || !strings.Contains(out, boot.FetchCommand) {
		t.Errorf("without kernels: failed %t, want a skip that names %q:\n%s", failed, boot.FetchCommand, out)
	}
	out, failed = behave(t, "boot nothing", cache, requireVariable+"=1")
	if !failed || !strings.Contains(out, boot.FetchCommand) {
		t.Errorf("without required kernels: failed %t, want a failure that names %q:\n%s", failed, boot.FetchCommand, out)
	}
}

// TestRunInGuestsWithoutTests sees a pattern that matches nothing as a failure, with the console kept.
func TestRunInGuestsWithoutTests(t *testing.T) {
	if InGuest() {
		t.Skip("already in a guest")
	}
	if reason := boot.Missing(); reason != "" {
		skip(t, reason)
	}
	cache := t.TempDir()
	if err := os.Mkdir(filepath.Join(cache, "vm"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, k := range boot.Kernels() {
		if err := os.Symlink(k.Dir, filepath.Join(cache, "vm", k.Version)); err != nil {
			t.Fatal(err)
		}
	}
	out, failed := behave(t, "boot nothing", "HEDDLE_CACHE="+cache)
	if !failed || !strings.Contains(out, "no test passed in the guest") {
		t.Errorf("failed %t, want a failure because no test passed:\n%s", failed, out)
	}
	console, err := os.ReadFile(filepath.Join(cache, "vm/console/TestBehave_linux-6.12.log"))
	if err != nil || !strings.Contains(string(console), exitLine) {
		t.Errorf("the guest's console was not kept (%v):\n%s", err, console)
	}
}

// TestBehave does what the last argument says; the tests above run it, in a guest or in a process of its own.
func TestBehave(t *testing.T) {
	switch os.Args[len(os.Args)-1] {
	case "fail":
		t.Fatal("failing on purpose")
	case "crash":
		panic("on purpose")
	case "hang":
		t.Log("hanging on purpose")
		time.Sleep(time.Hour)
	case "boot nothing":
		RunInGuest(t, "6.12", "^TestNoSuchName$")
	default:
		t.Skip("run by other tests")
	}
}
