package lab_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/vm"
)

// TestWeight: the group of a lab has the weight of its maker's niceness, and its hosts share it evenly.
func TestWeight(t *testing.T) {
	needRoot(t)
	if vm.InGuest() { // systemd does so on a machine
		os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+cpu"), 0o644)
	}
	before, dir := survey(t), t.TempDir()
	options, _ := json.Marshal(lab.Options{Name: "nice", Dir: dir, Hosts: 1, NoAgent: true})
	if out, err := exec.Command("nice", "-n", "-5", testAgent(t)[0], "test-up", string(options)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := 0
	for _, group := range cgroups(dir) {
		for file, want := range map[string][2]string{"cpu.shares": {"3125", "1024"}, "cpu.weight.nice": {"-5", "0"}} {
			for i, below := range []string{"", "host1"} {
				path := filepath.Join(strings.TrimPrefix(group, "cgroup "), below, file)
				if got, err := os.ReadFile(path); err == nil {
					found++
					if strings.TrimSpace(string(got)) != want[i] {
						t.Errorf("%s is %s, want %s", path, got, want[i])
					}
				}
			}
		}
	}
	l, err := lab.Load(dir, "nice")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Down(context.Background()); err != nil {
		t.Error(err)
	}
	noTrace(t, before, dir)
	if found == 0 {
		t.Skip("no cpu controller in a cgroup hierarchy: labs have no weight of their own")
	}
}
