package install_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/world"
)

// host is a Debian with systemd in a container of this machine's kernel, at which commands are typed.
type host struct {
	name string
	// init is the PID of its first process, as seen from here.
	init string
}

// newHost starts a host, and waits until it is up. Its root's folder has the given files. The host ends
// with the test.
func newHost(t *testing.T, name string, files ...string) host {
	t.Helper()
	need(t, "nsenter")
	root := filepath.Join(t.TempDir(), name, "root")
	must(t, nil, "mkdir", "-p", root)
	must(t, nil, "cp", append(files, root)...)
	must(t, nil, "cp", "test/install/testdata/wait.sh", filepath.Join(root, "machine.sh"))
	c := startContainer(t, root)
	world.Within(t, 5*time.Minute, name+" is up", func() error {
		select {
		case <-c.ended:
			t.Fatalf("%s has ended: %s", name, c.outcome(t))
		default:
		}
		if console := c.console(); !strings.Contains(console, "UP\n") {
			return fmt.Errorf("its console says %q", console)
		}
		return nil
	})
	if t.Failed() {
		t.FailNow()
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", c.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return host{name, strings.TrimSpace(string(children))}
}

// types runs a block of commands in root's folder, until the first that fails, and returns its output.
func (h host) types(t *testing.T, block string) string {
	t.Helper()
	begin := time.Now()
	out, err := run(t, nil, "timeout", "-k", "5", "600", "nsenter", "-t", h.init, "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w",
		"env", "-i", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive",
		"sh", "-exc", "cd; "+block)
	if err != nil {
		log, _ := run(t, nil, "nsenter", "-t", h.init, "-m", "-p", "-r", "journalctl", "--no-pager", "-n", "20", "-u", "heddled")
		t.Fatalf("%s: %v\n%s\n%s", h.name, err, out, log)
	}
	t.Logf("%s, %.1f s:\n%s", h.name, time.Since(begin).Seconds(), block)
	return out
}
