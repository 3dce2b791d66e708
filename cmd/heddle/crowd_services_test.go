package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestCrowdProgramMissing: a program that is not installed is said with its package, before anybody is attached.
func TestCrowdProgramMissing(t *testing.T) {
	if !alone(t) {
		return
	}
	file := scenarioFile(t, players)
	for _, args := range []string{"check " + file, "run " + file + " --modes bridge"} {
		out, err := exec.Command("unshare", "-m", "sh", "-c", "mount --bind /dev/null /usr/sbin/nginx && exec heddle crowd "+args).CombinedOutput()
		if err == nil || !strings.Contains(string(out), string(heddle.NoTool)) || !strings.Contains(string(out), "nginx-light") || strings.Contains(string(out), "attached") {
			t.Errorf("%s: %v, %s", args, err, out)
		}
	}
	nothingLeft(t)
}
