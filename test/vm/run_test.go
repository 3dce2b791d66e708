package vm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/lab/boot"
)

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		console string
		status  int
		found   bool
	}{
		{"ok\n\nGUEST-EXIT 0\n", 0, true},
		{"GUEST-EXIT 7\nGUEST-EXIT 2\nreboot: Power down\n", 2, true},
		{"the text GUEST-EXIT 0 within a line\n", -1, false},
		{"[    3.1] Kernel panic - not syncing: Attempted to kill init!\n", -1, false},
	} {
		if status, found := exitStatus(c.console); status != c.status || found != c.found {
			t.Errorf("exitStatus(%q) = %d, %t, want %d, %t", c.console, status, found, c.status, c.found)
		}
	}
}

func TestResult(t *testing.T) {
	console := `=== RUN   TestOne
    --- PASS: TestOne/part (0.00s)
--- PASS: TestOne (0.10s)
[    4.1] nf_conntrack: message--- PASS: TestTwo (0.00s)
--- SKIP: TestThree (0.00s)
--- FAIL: TestFour (0.00s)
`
	r := parseResult(console)
	if !slices.Equal(r.passed, []string{"TestOne", "TestTwo"}) || !slices.Equal(r.failed, []string{"TestFour"}) || !slices.Equal(r.skipped, []string{"TestThree"}) {
		t.Errorf("parsed %+v", r)
	}
	for _, c := range []struct {
		r    result
		exit int
		want string
	}{
		{result{passed: []string{"A"}}, 0, ""},
		{result{passed: []string{"A"}, failed: []string{"B"}}, 1, "tests failed in the guest: B"},
		{result{passed: []string{"A"}}, 2, "status 2"},
		{result{}, 0, "no test passed"},
		{result{skipped: []string{"A"}}, 0, "no test passed"},
	} {
		err := c.r.check(c.exit, "pattern")
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("check of %+v with status %d gives %v, want %q", c.r, c.exit, err, c.want)
		}
	}
}

func TestKernels(t *testing.T) {
	t.Setenv("HEDDLE_CACHE", t.TempDir())
	if found := boot.Kernels(); len(found) != 0 {
		t.Fatalf("an empty cache holds %v", found)
	}
	if reason := boot.MissingKernel("6.12"); !strings.Contains(reason, "make vm-kernels") || !strings.Contains(reason, "6.12") {
		t.Errorf("the reason %q names neither the kernel nor the command", reason)
	}
	if boot.Missing() == "" {
		t.Error("nothing is missing although the cache is empty")
	}
	dir := filepath.Join(os.Getenv("HEDDLE_CACHE"), "vm", "6.12")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if found := boot.Kernels(); len(found) != 0 {
		t.Errorf("a folder without vmlinux counts as a kernel: %v", found)
	}
	if err := os.WriteFile(filepath.Join(dir, "vmlinux"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	want := []boot.Kernel{{Version: "6.12", Dir: dir, Vmlinux: filepath.Join(dir, "vmlinux")}}
	if found := boot.Kernels(); !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}

func TestTail(t *testing.T) {
	for _, c := range []struct{ in, want string }{{"a\nb\nc\n", "b\nc"}, {"a", "a"}, {"", ""}} {
		if got := tail(c.in, 2); got != c.want {
			t.Errorf("tail(%q, 2) = %q, want %q", c.in, got, c.want)
		}
	}
}
