package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab/boot"
	"github.com/heddle-network/heddle/lazyregexp"
	"github.com/heddle-network/heddle/test/soak"
)

// requireVariable turns every reason to skip into a failure when it is "1".
const requireVariable = "HEDDLE_REQUIRE_VM"

// RunInGuests runs the tests of the calling package whose names match the pattern once under every kernel of Versions, each in a
// guest of its own and reported as a subtest ("linux-6.1"). The package's TestMain must call Main. A guest must pass at least one
// test. Where guests cannot run the test is skipped with the reason, or fails if HEDDLE_REQUIRE_VM=1. Further words are kernel
// parameters.
func RunInGuests(t *testing.T, pattern string, boot ...string) {
	t.Helper()
	Guest{Boot: boot}.RunEverywhere(t, pattern)
}

// SkipOther skips a test in make test if the kernel has another version, since emulation is slow. The
// full form (package soak) runs under every kernel.
func SkipOther(t *testing.T, version, enough string) {
	t.Helper()
	if enough != "" && version != enough {
		soak.Need(t, "Linux "+enough+" is enough where the processor is emulated")
	}
}

// RunInGuest is RunInGuests under one kernel in make test.
func RunInGuest(t *testing.T, version, pattern string, boot ...string) {
	t.Helper()
	Guest{Boot: boot, Only: version}.RunEverywhere(t, pattern)
}

// RunEverywhere is RunInGuests with guests like this one; its kernel is left out. The guests run beside each other, and beside the
// tests of the package that are parallel, too.
func (g Guest) RunEverywhere(t *testing.T, pattern string) {
	t.Helper()
	if InGuest() {
		t.Skip("already in a guest")
	}
	t.Parallel()
	if reason := boot.MissingHere(); reason != "" {
		skip(t, reason)
	}
	present := boot.Kernels()
	for _, v := range boot.Versions() {
		t.Run("linux-"+v, func(t *testing.T) {
			SkipOther(t, v, g.Only)
			pattern := pattern
			if g.Small != nil && !soak.On() {
				if pattern = g.Small[v]; pattern == "" {
					soak.Need(t, "takes minutes where the processor is emulated")
				}
			}
			t.Parallel()
			i := slices.IndexFunc(present, func(k boot.Kernel) bool { return k.Version == v })
			if i < 0 {
				skip(t, boot.MissingKernel(v))
			}
			g := g
			g.Kernel = present[i]
			g.RunTests(t, pattern)
		})
	}
}

// RunTests runs the tests of the calling package whose names match the pattern in this guest, and fails t if one fails there,
// if none passes, or if the guest does not end by itself. Guest.Args are added to the arguments. A failing guest's console is
// kept in the cache.
func (g Guest) RunTests(t *testing.T, pattern string) {
	t.Helper()
	g = g.withDefaults()
	deadline, limited := t.Deadline() // the zero time if there is none
	free, err := takeSlot(deadline)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	if limited {
		g.Timeout = min(g.Timeout, time.Until(deadline)-5*time.Second)
	}
	g.Args = append([]string{
		"-test.v",
		"-test.run=" + pattern,
		fmt.Sprintf("-test.short=%t", testing.Short()),
		fmt.Sprintf("-test.timeout=%s", g.Timeout*3/4), // a hanging test prints its goroutines before the guest is stopped
	}, g.Args...)
	start := time.Now()
	console, exit, err := g.Run(context.Background(), t.TempDir())
	took := time.Since(start).Seconds()
	result := parseResult(console)
	if err = errors.Join(err, result.check(exit, pattern)); err != nil && console != "" {
		t.Fatalf("%v\nguest after %.1f s; the last lines of its console, all of it in %s:\n%s",
			err, took, keepConsole(t, console), tail(console, 80))
	} else if err != nil {
		t.Fatal(err)
	}
	dropConsole(t)
	t.Logf("%d tests passed, %d skipped in the guest; %.1f s from making it to its power-off", len(result.passed), len(result.skipped), took)
}

// skip skips the test for a reason of this machine.
func skip(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv(requireVariable) == "1" {
		t.Fatalf("%s=1, but %s", requireVariable, reason)
	}
	t.Skip(reason)
}

// result holds the names of the top-level tests in a console, by their end.
type result struct{ passed, failed, skipped []string }

// The pattern is not tied to the start of a line, where the kernel's messages may stand.
var resultPattern = lazyregexp.New(`--- (PASS|FAIL|SKIP): ([^\s/]+) \(`)

func parseResult(console string) result {
	var r result
	for _, m := range resultPattern.FindAllStringSubmatch(console, -1) {
		switch m[1] {
		case "PASS":
			r.passed = append(r.passed, m[2])
		case "FAIL":
			r.failed = append(r.failed, m[2])
		case "SKIP":
			r.skipped = append(r.skipped, m[2])
		}
	}
	return r
}

// check returns what is wrong with a guest's tests that ended with the given status (-1: not at all).
func (r result) check(exit int, pattern string) error {
	switch {
	case len(r.failed) > 0:
		return fmt.Errorf("tests failed in the guest: %s", strings.Join(r.failed, ", "))
	case exit > 0:
		return fmt.Errorf("the test binary ended with status %d in the guest", exit)
	case exit == 0 && len(r.passed) == 0:
		return fmt.Errorf("no test passed in the guest (%d skipped): the pattern %q matches none that runs there", len(r.skipped), pattern)
	}
	return nil
}

// consoleFile is where the console of a failing test is kept.
func consoleFile(t *testing.T) (string, error) {
	cache, err := boot.CacheDir()
	return filepath.Join(cache, "console", strings.ReplaceAll(t.Name(), "/", "_")+".log"), err
}

// keepConsole writes the console into the cache and returns where, or why not.
func keepConsole(t *testing.T, console string) string {
	path, err := consoleFile(t)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, []byte(console), 0o644)
	}
	if err != nil {
		return fmt.Sprintf("no file (%v)", err)
	}
	return path
}

// dropConsole removes what an earlier failure of the same test left.
func dropConsole(t *testing.T) {
	if path, err := consoleFile(t); err == nil {
		os.Remove(path)
	}
}

// tail returns the last n lines of s.
func tail(s string, n int) string {
	lines := strings.SplitAfter(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
