package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/soak"
)

// TestCrowdProgram: a program that is not installed is said with its package, before anybody is attached; one that does not
// start, with its own words.
func TestCrowdProgram(t *testing.T) {
	soak.Turn(t, 0)
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
	broken := filepath.Join(t.TempDir(), "nginx")
	script := "#!/bin/sh\n[ \"$1\" = -v ] && exit 0\necho '[emerg] its own words'\nexit 3\n"
	if err := os.WriteFile(broken, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("unshare", "-m", "sh", "-c", "mount --bind "+broken+" /usr/sbin/nginx && exec heddle crowd run "+file+" --modes bridge").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "start nginx for service web: exit status 3: [emerg] its own words") || !strings.Contains(string(out), string(heddle.CrowdFailed)) {
		t.Errorf("%v, %s", err, out)
	}
	nothingLeft(t)
}
