package hardship_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// The groups are Debian's: daemon has the number 1, nobody is not in it.
const (
	group    = "daemon"
	nobody   = "--reuid=65534 --regid=65534 --clear-groups"
	asMember = "--reuid=65534 --regid=1 --clear-groups"
	asGuest  = "--reuid=65534 --regid=65534 --groups=1"
	// past the socket's mode, but nobody all the same
	pastMode = nobody + " --inh-caps=+dac_override --ambient-caps=+dac_override"
)

// TestSocketMode: the socket is root's, and of the group that may use it.
func TestSocketMode(t *testing.T) {
	cell.Need(t)
	for flag, gid := range map[string]uint32{"": 0, group: 1} {
		d := newDaemon(t, folder(t), "--socket-group", flag).ready(t)
		info, err := os.Lstat(d.socket())
		cell.Must(t, err)
		st := info.Sys().(*syscall.Stat_t)
		if info.Mode() != os.ModeSocket|0o660 || st.Uid != 0 || st.Gid != gid {
			t.Errorf("group %q: %v, owner %d:%d", flag, info.Mode(), st.Uid, st.Gid)
		}
		d.stop()
	}
}

// TestCallers: who the kernel says is calling, not how the socket was reached,
// decides.
func TestCallers(t *testing.T) {
	cell.Need(t)
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("needs setpriv (package util-linux)")
	}
	for _, c := range []struct {
		name, group, caller string
		code                int
		words               string
	}{
		{"root", "", "--reuid=0", 0, "healthy"},
		{"root without capabilities", "", "--bounding-set=-all --inh-caps=-all", 0, "healthy"},
		{"nobody", "", nobody, 1, "permission denied"},
		{"nobody, with a group that it is not in", group, nobody, 1, "permission denied"},
		{"member", group, asMember, 0, "healthy"},
		{"member by a supplementary group", group, asGuest, 0, "healthy"},
		{"nobody past the mode", "", pastMode, 1, "HDL-3006"},
		{"nobody past the mode, with a group", group, pastMode, 1, "HDL-3006"},
		{"group 0 is no group of callers", "", "--reuid=65534 --regid=0 --clear-groups", 1, "HDL-3006"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDaemon(t, folder(t), "--socket-group", c.group).ready(t)
			code, words := callAs(t, d, c.caller)
			if code != c.code || !strings.Contains(words, c.words) {
				t.Errorf("exit code %d, want %d and %q: %s", code, c.code, c.words, words)
			}
			d.stop()
		})
	}
}

// callAs runs the command line with other rights.
func callAs(t *testing.T, d *daemon, rights string) (int, string) {
	t.Helper()
	program := cell.Build(t, "heddle")
	cell.Must(t, os.Chmod(filepath.Dir(program), 0o755))
	cmd := exec.Command("setpriv", append(strings.Fields(rights), program, "--socket", d.socket(), "status")...)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

// TestPassedOn: a connection keeps the credentials of who opened it (unix(7)):
// one opened by root and passed on to a process without rights still is root's.
func TestPassedOn(t *testing.T) {
	cell.Need(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3, as a program that keeps a connection over setuid")
	}
	d := newDaemon(t, folder(t)).ready(t)
	const drop = `import os, socket, sys
s = socket.socket(socket.AF_UNIX)
if sys.argv[2] == "before": s.connect(sys.argv[1])
os.setgroups([]); os.setgid(65534); os.setuid(65534)
if sys.argv[2] == "after": s.connect(sys.argv[1])
s.sendall(b"GET /v1/status HTTP/1.0\r\n\r\n")
print(s.recv(100).decode())`
	for when, want := range map[string]string{"before": "200 OK", "after": "PermissionError"} {
		out, _ := exec.Command("/usr/bin/env", "python3", "-c", drop, d.socket(), when).CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("connected %s the rights were dropped: want %s: %s", when, want, out)
		}
	}
}
