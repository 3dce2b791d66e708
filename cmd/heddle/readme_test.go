package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/poll"
)

// readme returns the commands of README.md by their block's name.
func readme(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```sh *(\\S*)\n(.*?)```").FindAllSubmatch(text, -1) {
		blocks[string(m[1])] = string(m[2])
	}
	return blocks
}

// clusterSteps are the blocks about several hosts, and where the text says that each is typed.
var clusterSteps = []struct{ host, block string }{
	{"host1", "first"}, {"host2", "join"}, {"host3", "join"}, {"host1", "network"}, {"host2", "ping"},
}

// TestReadmeBlocks: a test runs every block of the README, and every target of make that it names
// is in the Makefile.
func TestReadmeBlocks(t *testing.T) {
	run := map[string]bool{"try": true}
	for _, s := range clusterSteps {
		run[s.block] = true
	}
	have, want := slices.Sorted(maps.Keys(readme(t))), slices.Sorted(maps.Keys(run))
	if !slices.Equal(have, want) {
		t.Errorf("blocks of the README: %v; run by tests: %v", have, want)
	}
	text, err := os.ReadFile("../../README.md")
	makefile, missing := os.ReadFile("../../Makefile")
	if err != nil || missing != nil {
		t.Fatal(err, missing)
	}
	targets := regexp.MustCompile("`make ([a-z-]+)").FindAllSubmatch(text, -1)
	for _, m := range targets {
		if !strings.Contains(string(makefile), "\n"+string(m[1])+":") {
			t.Errorf("make has no target %s", m[1])
		}
	}
	if len(targets) < 3 {
		t.Errorf("%d targets of make", len(targets))
	}
}

// TestReadmeTry pastes "Try it" into a shell in a copy of this folder.
func TestReadmeTry(t *testing.T) {
	block := readme(t)["try"]
	if !alone(t) {
		return
	}
	p := newPaste(t)
	if err := unix.Mount("state", "/var/lib", "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	if text, err := p.shell(copyOfRepository(t), block); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p.until("sh", "-c", "! pgrep -r R,S,D heddled")
	if left, err := exec.Command("sh", "-ec", "ip netns; ip -o link show type veth | grep -v -e eth0@ -e wire@ || true; nft list tables").Output(); err != nil || len(left) > 0 {
		t.Errorf("it leaves: %v %s", err, left)
	}
}

// copyOfRepository mounts a copy of this repository over it, whose changes end with the machine.
func copyOfRepository(t *testing.T) string {
	t.Helper()
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	changes := "/run/changes" // in memory
	if err := os.MkdirAll(changes+"/upper", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(changes+"/work", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("copy", top, "overlay", 0, "lowerdir="+top+",upperdir="+changes+"/upper,workdir="+changes+"/work"); err != nil {
		t.Fatal(err)
	}
	return top
}

// TestReadmeCluster pastes the blocks about several hosts into shells of hosts where no agent runs.
func TestReadmeCluster(t *testing.T) {
	blocks := readme(t)
	if !alone(t) {
		return
	}
	p := newPaste(t)
	if out, err := exec.Command("heddle", "lab", "up", "--hosts", "3", "--no-agent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, s := range clusterSteps {
		if s.block == "ping" { // a person takes longer to turn to the other host than the network to be there
			p.until("heddle", "lab", "exec", s.host, "--", "heddle", "network", "show", "app")
		}
		if text, err := p.shell(p.dir, blocks[s.block], "heddle", "lab", "exec", s.host, "--"); err != nil {
			t.Fatalf("%s on %s: %v\n%s", s.block, s.host, err, text)
		}
	}
	if out, err := exec.Command("heddle", "lab", "down").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// paste pastes blocks into shells.
type paste struct {
	t   *testing.T
	dir string
}

// newPaste makes a folder for what the blocks write, and a sudo for those who are root.
func newPaste(t *testing.T) *paste {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sudo"), []byte("#!/bin/sh\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return &paste{t, dir}
}

// shell runs a block until its first command that fails, and returns what it said. The words in
// front lead to the shell's host. Programs that the block leaves running do not hold it up.
func (p *paste) shell(dir, block string, words ...string) (said []byte, err error) {
	p.t.Helper()
	log, err := os.CreateTemp(p.dir, "said-*")
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	words = append(words, "sh", "-exc", block)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	err = cmd.Run()
	said, _ = os.ReadFile(log.Name())
	return said, err
}

// until runs a command until it succeeds.
func (p *paste) until(words ...string) {
	p.t.Helper()
	if _, err := poll.Until(time.Minute, 100*time.Millisecond, func() error {
		return exec.Command(words[0], words[1:]...).Run()
	}); err != nil {
		p.t.Fatalf("%v: %v", words, err)
	}
}
