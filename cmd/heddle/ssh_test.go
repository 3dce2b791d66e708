package main

import (
	"net/netip"
	"os"
	"os/exec"
	"testing"
)

// TestSSHServer reads the variable, also where sudo has taken it away.
func TestSSHServer(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_SSH") == "print" {
		os.Stdout.WriteString("server " + sshServer().String() + "\n")
		return
	}
	for connection, want := range map[string]string{
		"198.51.100.9 50000 192.0.2.1 22":         "192.0.2.1",
		"fe80::9%eth0 50000 fe80::1%eth0 22":      "fe80::1",
		"::ffff:198.51.100.9 5 ::ffff:10.0.0.1 2": "10.0.0.1",
	} {
		t.Setenv(sshVariable, connection)
		if got := sshServer(); got != netip.MustParseAddr(want) {
			t.Errorf("%q gives %v", connection, got)
		}
		// a shell that has the variable calls one that takes it away
		cmd := exec.Command("sh", "-c", `env -u SSH_CONNECTION sh -c '"$0" -test.run "^TestSSHServer$"; true' "$0"; true`, os.Args[0])
		cmd.Env = append(os.Environ(), "HEDDLE_TEST_SSH=print")
		out, err := cmd.CombinedOutput()
		if len(out) < len(want)+8 || string(out[:8+len(want)]) != "server "+want+"\n" {
			t.Errorf("below a program with %q: %v %s", connection, err, out)
		}
	}
	if serverAddr("nonsense").IsValid() || serverAddr("a b c d").IsValid() {
		t.Error("nonsense is no address")
	}
}
