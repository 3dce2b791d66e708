package lab_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/vm"
)

// TestBeside: a process beside the hosts weighs more than one of them, as much as its niceness would say, and goes back to where it was.
func TestBeside(t *testing.T) {
	needRoot(t)
	if vm.InGuest() { // systemd does so on a machine
		os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+cpu"), 0o644)
	}
	before, dir := survey(t), t.TempDir()
	was, err := os.ReadFile("/proc/self/cgroup")
	cell.Must(t, err)
	l, err := lab.Up(t.Context(), lab.Options{Name: "beside", Dir: dir, Hosts: 1, NoAgent: true})
	cell.Must(t, err)
	leave, err := l.Beside(10)
	if err != nil {
		t.Error(err)
	}
	found := 0
	for _, group := range cgroups(dir) {
		for file, want := range map[string]string{"cpu.shares": "9537", "cpu.weight.nice": "-10"} {
			path := filepath.Join(strings.TrimPrefix(group, "cgroup "), "beside.hosts")
			got, err := os.ReadFile(filepath.Join(path, file))
			if err != nil {
				continue
			}
			found++
			in, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
			if strings.TrimSpace(string(got)) != want || !slices.Contains(strings.Fields(string(in)), strconv.Itoa(os.Getpid())) {
				t.Errorf("%s of %s is %s, with the processes %q", file, path, got, in)
			}
		}
	}
	leave()
	if is, _ := os.ReadFile("/proc/self/cgroup"); string(is) != string(was) {
		t.Errorf("it was in %s, and is in %s", was, is)
	}
	if err := l.Down(context.Background()); err != nil {
		t.Error(err)
	}
	noTrace(t, before, dir)
	if found == 0 {
		t.Skip("no cpu controller in a cgroup hierarchy: labs have no weight of their own")
	}
}
