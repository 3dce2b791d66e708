package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/lab/boot"
)

// TestToolClosure holds the closure against what the dynamic loader itself says.
func TestToolClosure(t *testing.T) {
	tool, err := exec.LookPath("nft")
	if err != nil {
		t.Skip("no nft: install the package nftables")
	}
	out, err := exec.Command("ldd", tool).Output()
	if err != nil {
		t.Skipf("ldd %s: %v", tool, err)
	}
	c, err := toolClosure([]string{tool})
	if err != nil {
		t.Fatal(err)
	}
	loaded := regexp.MustCompile(`(?m)(/\S+) \(0x`).FindAllStringSubmatch(string(out), -1)
	if len(loaded) < 3 {
		t.Fatalf("ldd names too few libraries:\n%s", out)
	}
	for _, m := range loaded {
		real, err := filepath.EvalSymlinks(m[1])
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(c.files, real) {
			t.Errorf("%s, which the loader wants, is not among %q", real, c.files)
		}
	}
	for link, target := range c.links {
		if !slices.Contains(c.files, target) {
			t.Errorf("link %s leads to %s, which is not in the closure", link, target)
		}
	}
}

func TestToolClosureOfIptables(t *testing.T) {
	tool, err := exec.LookPath("iptables")
	if err != nil {
		t.Skip("no iptables: install the package iptables")
	}
	c, err := toolClosure([]string{tool})
	if err != nil {
		t.Fatal(err)
	}
	plugins := slices.DeleteFunc(slices.Clone(c.files), func(f string) bool { return !strings.Contains(f, "/xtables/libxt_") })
	if len(plugins) < 20 {
		t.Errorf("only %d xtables plugins in the closure of %s: %q", len(plugins), tool, plugins)
	}
}

func TestToolThatCannotRun(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{script, "/no/such/tool"} {
		if _, err := toolClosure([]string{tool}); err == nil || !strings.Contains(err.Error(), tool) {
			t.Errorf("tool %s gives %v, want an error that names it", tool, err)
		}
	}
	if _, err := findLibrary("libnothing.so.9"); err == nil || !strings.Contains(err.Error(), "/usr/lib") {
		t.Errorf("an absent library gives %v, want an error that names the folders", err)
	}
}

func TestCheckStatic(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Skip("no /bin/sh")
	}
	if err := boot.CheckStatic(shell); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("the dynamic %s gives %v, want an error that names CGO_ENABLED=0", shell, err)
	}
}
